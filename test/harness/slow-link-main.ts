import { createInterface } from 'node:readline';
import { TcpProxy } from './tcp-proxy.js';

/*
 * A slow link: a host of its own that forwards connections and delays every byte in both directions. Kernels of
 * containers often lack `tc netem`. Arguments: address and port to listen on, address and port of the target. A line on
 * stdin sets the delay in ms.
 */
const [, , host = '', port = '', targetHost = '', targetPort = ''] = process.argv;
const link = await TcpProxy.to(`tcp://${targetHost}:${targetPort}`, { host, port: Number(port) });
process.stdout.write('listening\n');

createInterface({ input: process.stdin })
  .on('line', (line) => link.break({ latencyMs: Number(line) }))
  .on('close', () => process.exit());
