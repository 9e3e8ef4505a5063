import { Agent, createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startPlatform } from '#test/platform';
import { RpcNode } from '#test/rpc-node';
import { type BenchSubject, type Figures, medianOf, percentile, runBench } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const options = benchOptions(
  `npm run bench -- rpc [options]

Calls of a blockchain node on loopback, through the api and through a plain reverse proxy of the same machine, which
checks, limits and charges nothing. Both run in turns.`,
  {
    rounds: roundsOption,
    calls: { value: 'N', about: 'calls per run, one after the other, then as many at once', default: 300 },
    concurrent: { value: 'N', about: 'calls at once', default: 16 },
    json: jsonOption,
  },
);

const aims = { addedP50Ms: 3, throughput: 0.7 };
const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'eth_gasPrice', params: [] });

/** Forwards every request to `target` over connections that stay open. */
async function startProxy(target: string): Promise<Server> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, host: new URL(target).host };
    const onward = forward(target, { method: 'POST', agent, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const node = await RpcNode.start();
const proxy = await startProxy(node.url);
const api = {
  SLUICE_RPC_UPSTREAMS: `ethereum-mainnet=${node.url}`,
  SLUICE_RPC_CONCURRENT: String(options.concurrent),
  SLUICE_RPC_DAILY_CREDITS: '1000000000',
};
const platform = await startPlatform({ ownPostgres: true, processEnv: { api } });
const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };

async function callMs(url: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, { method: 'POST', headers, body });
  const text = await response.text();
  if (!text.includes('0x3b9aca00')) throw new Error(`status ${response.status}: ${text}`);
  return performance.now() - startedAt;
}

async function measure(url: string): Promise<Figures> {
  const { calls, concurrent } = options;
  const times: number[] = [];
  for (let index = 0; index < calls; index += 1) times.push(await callMs(url));
  const startedAt = performance.now();
  let left = calls;
  const work = async (): Promise<void> => {
    while (left-- > 0) await callMs(url);
  };
  await Promise.all(Array.from({ length: concurrent }, work));
  const perSecond = calls / ((performance.now() - startedAt) / 1_000);
  return { p50Ms: percentile(times, 50), p95Ms: percentile(times, 95), perSecond };
}

const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`;
const subjects: BenchSubject[] = [
  { name: 'plain proxy', run: () => measure(proxyUrl) },
  { name: 'api', run: () => measure(`${platform.baseUrl}/crypto/rpc/ethereum-mainnet`) },
];
try {
  const { rounds, calls, concurrent } = options;
  await runBench({
    name: 'rpc',
    settings: { rounds, calls, concurrent },
    subjects,
    rounds,
    json: options.json,
    ratiosOf: (results) => {
      const of = (name: string, figure: string): number => medianOf(results, name, figure);
      const addedMs = of('api', 'p50Ms') - of('plain proxy', 'p50Ms');
      const throughput = of('api', 'perSecond') / of('plain proxy', 'perSecond');
      return [
        { name: 'added p50, ms', value: addedMs, aim: aims.addedP50Ms, isLimit: true },
        { name: 'api / plain proxy, calls per second', value: throughput, aim: aims.throughput, isLimit: false },
      ];
    },
  });
} finally {
  await platform.stop();
  proxy.closeAllConnections();
  proxy.close();
  await node.close();
}
