import { growthWithFile } from './file-memory.ts';
import { forTests, startProcess } from './process.ts';
import { createDatabase } from './postgres.ts';
for (const env of [{DATABASE_URL: await createDatabase(), GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32,1).toString('base64')}])
for (const size of [200e6]) {
  const g = await startProcess({ environment: { ...forTests, ...env } });
  const t = Date.now();
  console.log(Object.keys(env).length, size/1e6, JSON.stringify(await growthWithFile(g, size)), Date.now()-t, 'ms base', g.memory()/1e6);
  await g.stop(); console.log(g.errors.slice(0,1000));
}
process.exit(0);
