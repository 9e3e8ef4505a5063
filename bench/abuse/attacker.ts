import { attackList, type AttackTarget } from '#test/attacks';

/*
 * Runs one attack in a process of its own, so that the measured caller's event loop does none of its work. Argument: the
 * attack's name, the number of sockets and the target, as JSON. Says when it begins; ends with its parent's channel.
 */
const { name, sockets, target } = JSON.parse(process.argv[2] ?? '') as AttackerArgument;

export interface AttackerArgument {
  name: string;
  sockets: number;
  target: AttackTarget;
}

const attack = attackList({ sockets }).find((one) => one.name === name);
if (attack === undefined) throw new Error(`There is no attack ${name}.`);
const stop = new AbortController();
process.once('disconnect', () => stop.abort());
process.send?.('begins');
await attack.run(target, stop.signal);
