// A local EVM node with JSON-RPC on a free loopback port. Prints one line of JSON with its address when it listens, and
// ends with its parent. Options: SLUICE_TEST_EVM_NODE, see hardhat.config.cjs.
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('.', import.meta.url)));
process.env.HARDHAT_CONFIG = fileURLToPath(new URL('hardhat.config.cjs', import.meta.url));
process.env.HARDHAT_DISABLE_TELEMETRY_PROMPT = 'true';

const { default: hardhat } = await import('hardhat');
const provider = await hardhat.run('node:get-provider');
const server = await hardhat.run('node:create-server', { hostname: '127.0.0.1', port: 0, provider });
const { address, port } = await server.listen();
process.stdout.write(`${JSON.stringify({ url: `http://${address}:${port}` })}\n`);

// The pipe of the parent closes when it ends, however it ends.
process.stdin.on('end', () => process.exit(0)).resume();
