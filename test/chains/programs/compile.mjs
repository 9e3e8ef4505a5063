// Compiles contracts/*.sol and prints `{ [contract]: { abi, bytecode } }`. The output is kept in node_modules/.cache
// under the hash of the sources and the compiler's version, because loading the compiler takes seconds.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const folder = new URL('contracts/', import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.sol'))
  .sort();
const sources = Object.fromEntries(
  names.map((name) => [name, { content: readFileSync(new URL(name, folder), 'utf8') }]),
);
const input = {
  language: 'Solidity',
  sources,
  settings: {
    evmVersion: 'cancun',
    optimizer: { enabled: true, runs: 200 },
    viaIR: true,
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
  },
};
const { version } = require('solc/package.json');
const hash = createHash('sha256').update(version).update(JSON.stringify(input)).digest('hex');
const cache = new URL('node_modules/.cache/', import.meta.url);
const cached = new URL(`contracts-${hash.slice(0, 16)}.json`, cache);

function readCached() {
  try {
    return readFileSync(cached, 'utf8');
  } catch {
    return null;
  }
}

function compile() {
  const output = JSON.parse(require('solc').compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const contracts = Object.values(output.contracts).flatMap((file) => Object.entries(file));
  const artifacts = contracts.map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]);
  const text = JSON.stringify(Object.fromEntries(artifacts));
  mkdirSync(cache, { recursive: true });
  const temporary = new URL(`${cached.pathname}.${process.pid}`, cached);
  writeFileSync(temporary, text);
  renameSync(temporary, cached);
  return text;
}

process.stdout.write(readCached() ?? compile());
