import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/*
 * A link that is slow: a host of its own that passes connections on and holds back every byte, each way. Kernels of
 * containers often lack `tc netem`. Arguments: address and port to listen on, address and port to lead to. A line on
 * stdin is the delay from then on, in ms.
 */
const [, , host = '', port = '', targetHost = '', targetPort = ''] = process.argv;
let delayMs = 0;

/** Everything from one side to the other, in order, also while the delay changes. */
function passOn(from: Socket, to: Socket): void {
  let lastMs = 0;
  const later = (act: () => void): void => {
    lastMs = Math.max(lastMs, performance.now() + delayMs);
    if (lastMs <= performance.now()) act();
    else setTimeout(act, lastMs - performance.now());
  };
  from.on('data', (bytes) => later(() => to.writable && to.write(bytes)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => later(() => to.destroy()));
}

createServer((near) => {
  const far = connect({ host: targetHost, port: Number(targetPort) });
  for (const socket of [near, far]) socket.setNoDelay(true);
  passOn(near, far);
  passOn(far, near);
}).listen(Number(port), host, () => process.stdout.write('listening\n'));

createInterface({ input: process.stdin })
  .on('line', (line) => {
    delayMs = Number(line);
  })
  .on('close', () => process.exit());
