import { createInterface } from 'node:readline';
import { TcpProxy } from './tcp-proxy.js';

/*
 * A link that is slow: a host of its own that passes connections on and holds back every byte, each way. Kernels of
 * containers often lack `tc netem`. Arguments: address and port to listen on, address and port to lead to. A line on
 * stdin is the delay from then on, in ms.
 */
const [, , host = '', port = '', targetHost = '', targetPort = ''] = process.argv;
const link = await TcpProxy.to(`tcp://${targetHost}:${targetPort}`, { host, port: Number(port) });
process.stdout.write('listening\n');

createInterface({ input: process.stdin })
  .on('line', (line) => link.break({ latencyMs: Number(line) }))
  .on('close', () => process.exit());
