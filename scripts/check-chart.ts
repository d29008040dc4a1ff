/**
 * Renders the chart with the real Helm for each set of values in `deploy/helm/values`, decodes what comes out strictly into the
 * types of Kubernetes, of the Gateway API and of the Prometheus operator, and keeps it in `deploy/helm/rendered`, where
 * `npm test` looks at it. Values that must be refused are given, too. Not part of `npm test`: Helm and the types are built
 * from Go modules, which takes some minutes, a Go toolchain and the module proxy.
 *
 *     bun scripts/check-chart.ts [folder of an earlier build]
 *
 * It has last said: "Helm v3.19.2: 6 sets of values make 28 objects that decode strictly; 21 wrong ones are refused in their words."
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { chartDigest } from '../test/chart-digest.ts';

const HELM = 'v3.19.2';
/** Helm takes 1.20 unless it is told, when it was built without its own build script. */
const KUBERNETES = '--kube-version=1.34.0';
const root = join(import.meta.dir, '..');
const chart = join(root, 'deploy/helm/gateway');
const valuesFolder = join(root, 'deploy/helm/values');
const renderedFolder = join(root, 'deploy/helm/rendered');
const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), 'gateway-chart-'));

const MODULES = `module decode

go 1.24.0

require (
	github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring v0.85.0
	k8s.io/apimachinery v0.34.0
	k8s.io/client-go v0.34.0
	sigs.k8s.io/gateway-api v1.4.0
)
`;

const PROGRAM = `package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
)

func main() {
	_ = monitoring.AddToScheme(scheme.Scheme)
	_ = gateway.Install(scheme.Scheme)
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return
		}
		if err == nil {
			_, _, err = decoder.Decode(document, nil, nil)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
`;

/** Values that must be refused, each with what is said. The first of them are those of the embedded store. */
const REFUSED: readonly { readonly base: string; readonly set: string; readonly says: string }[] = [
  { base: 'embedded', set: 'replicaCount=2', says: 'replicaCount is 2 on the embedded store' },
  { base: 'embedded', set: 'autoscaling.enabled=true', says: 'autoscaling.enabled is true on the embedded store' },
  {
    base: 'embedded',
    set: 'settings.GATEWAY_PROCESSES=auto',
    says: 'settings.GATEWAY_PROCESSES is auto on the embedded',
  },
  { base: 'embedded', set: 'image.repository=', says: 'image.repository is empty: build the image' },
  { base: 'embedded', set: 'image.repo=x', says: 'repo' },
  { base: 'embedded', set: 'settings.GATEWAY_LOG_BODYS=true', says: 'GATEWAY_LOG_BODYS' },
  { base: 'embedded', set: 'settings.GATEWAY_ADMIN_KEY=gw-written-out-in-values', says: 'GATEWAY_ADMIN_KEY' },
  { base: 'embedded', set: 'secrets.JWT_PRIVATE_KEY=written-out', says: 'JWT_PRIVATE_KEY' },
  { base: 'embedded', set: 'apply.enabled=true', says: 'apply.enabled is true and there is no file' },
  { base: 'embedded', set: 'ingress.enabled=true', says: 'ingress.hosts is empty' },
  { base: 'embedded', set: 'httpRoute.enabled=true', says: 'httpRoute.parentRefs is empty' },
  { base: 'embedded', set: 'networkPolicy.enabled=true', says: 'networkPolicy.ingressFrom is empty' },
  {
    base: 'embedded',
    set: 'metrics.serviceMonitor.enabled=true',
    says: 'metrics.serviceMonitor.existingSecret is empty',
  },
  { base: 'embedded', set: 'extraEnv[0].name=PORT', says: 'extraEnv names PORT, which the chart sets already' },
  {
    base: 'postgres',
    set: 'encryptionKey.existingSecret=',
    says: 'encryptionKey.existingSecret is empty: with PostgreSQL',
  },
  { base: 'postgres', set: 'adminKey.existingSecret=', says: 'adminKey.existingSecret is empty: with PostgreSQL' },
  { base: 'postgres', set: 'extraEnv[0].name=DATABASE_URL', says: 'extraEnv names DATABASE_URL' },
  { base: 'postgres-whole', set: 'networkPolicy.egress=null', says: 'networkPolicy.egress is empty' },
  { base: 'postgres-whole', set: 'autoscaling.minReplicas=30', says: 'autoscaling.minReplicas is above' },
  { base: 'postgres-whole', set: 'resources.requests=null', says: 'without resources.requests.cpu' },
  {
    base: 'postgres-whole',
    set: 'apply.config.version=1',
    says: 'apply.config and apply.existingConfigMap are both set',
  },
];

async function run(command: string[], options: { cwd?: string; input?: string; env?: Record<string, string> } = {}) {
  const child = Bun.spawn(command, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdin: options.input === undefined ? 'ignore' : new Blob([options.input]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { output, errors, exitCode };
}

async function mustRun(...given: Parameters<typeof run>): Promise<string> {
  const { output, errors, exitCode } = await run(...given);
  if (exitCode !== 0) throw new Error(`${given[0].join(' ')} failed:\n${errors.slice(-2_000)}`);
  return output;
}

async function build(): Promise<{ helm: string; decode: string }> {
  const [helm, decode] = [join(folder, 'helm'), join(folder, 'decode')];
  if (!(existsSync(helm) && existsSync(decode)) && !Bun.which('go'))
    throw new Error('There is no go on this machine: nothing was checked.');
  mkdirSync(folder, { recursive: true });
  const env = { GOBIN: folder, GOFLAGS: '-mod=mod' };
  if (!existsSync(helm)) await mustRun(['go', 'install', `helm.sh/helm/v3/cmd/helm@${HELM}`], { cwd: folder, env });
  if (!existsSync(decode)) {
    const source = join(folder, 'source');
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, 'go.mod'), MODULES);
    writeFileSync(join(source, 'main.go'), PROGRAM);
    await mustRun(['go', 'build', '-o', decode, '.'], { cwd: source, env });
  }
  return { helm, decode };
}

/** What is compared here with its source is kept by its name alone: dashboards and rules would be most of the text. */
function shortened(text: string): string {
  const documents = parseAllDocuments(text, { version: '1.1' })
    .map((document) => document.toJS())
    .filter((document) => document !== null);
  for (const { kind, metadata, data, spec } of documents) {
    if (kind === 'ConfigMap' && metadata.name.endsWith('-dashboards'))
      for (const name of Object.keys(data)) {
        const file = `grafana/${name.replace(/^gateway-/, '')}`;
        if (data[name].trim() !== readFileSync(join(root, file), 'utf8').trim())
          throw new Error(`${name} is not ${file}`);
        data[name] = `(${file})`;
      }
    if (kind === 'PrometheusRule') {
      const [rules] = parseAllDocuments(readFileSync(join(root, 'grafana/alerts.yaml'), 'utf8'));
      if (!Bun.deepEquals(spec, rules!.toJS())) throw new Error('The rules are not those of grafana/alerts.yaml');
      spec.groups = '(grafana/alerts.yaml)';
    }
  }
  return documents.map((document) => stringify(document, { lineWidth: 0, version: '1.1' })).join('---\n');
}

try {
  const { helm, decode } = await build();
  const template = (name: string, ...more: string[]) => [
    helm,
    'template',
    'production',
    chart,
    '--namespace=models',
    KUBERNETES,
    `--values=${join(valuesFolder, `${name}.yaml`)}`,
    ...more,
  ];
  const sets = readdirSync(valuesFolder).map((name) => basename(name, '.yaml'));
  rmSync(renderedFolder, { recursive: true, force: true });
  mkdirSync(renderedFolder);
  let objects = 0;
  for (const name of sets) {
    await mustRun([helm, 'lint', '--strict', KUBERNETES, chart, `--values=${join(valuesFolder, `${name}.yaml`)}`]);
    const output = await mustRun(template(name));
    await mustRun([decode], { input: output });
    const text = shortened(output);
    objects += text.split('---\n').length;
    writeFileSync(join(renderedFolder, `${name}.yaml`), text);
  }
  for (const { base, set, says } of REFUSED) {
    const { errors, exitCode } = await run(template(base, `--set=${set}`));
    if (exitCode === 0) throw new Error(`${base} with ${set} is not refused`);
    if (!errors.includes(says)) throw new Error(`${base} with ${set} is refused with other words:\n${errors}`);
  }
  writeFileSync(join(renderedFolder, 'chart.sha256'), `${chartDigest()}\n`);
  console.log(
    `Helm ${HELM}: ${sets.length} sets of values make ${objects} objects that decode strictly; ${REFUSED.length} wrong ones are refused in their words.`,
  );
} finally {
  if (!given) rmSync(folder, { recursive: true, force: true });
}
