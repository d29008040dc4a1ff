import { createRemoteJWKSet, jwtVerify } from 'jose';

/**
 * An MCP server's check of a signed identity, in a process of its own: it knows the address of the key set, the issuer
 * and the algorithm, and nothing else of the gateway. Reads one token per line, writes the claims or why not.
 */
const [jwksUri = ''] = process.argv.slice(2);
const keys = createRemoteJWKSet(new URL(jwksUri));

for await (const line of console) {
  const token = line.trim();
  if (token === '') continue;
  try {
    const { payload } = await jwtVerify(token, keys, { algorithms: ['RS256'], issuer: 'service-mcp-gateway' });
    console.log(JSON.stringify(payload));
  } catch (error) {
    console.log(JSON.stringify({ refused: (error as { code?: string }).code ?? String(error) }));
  }
}
