import { describe, expect, it } from 'vitest';
import type { BusSender, MessageBus, MessageListener } from '../contract/message-bus.js';
import type { JobResult } from '../contract/transport.js';
import { BusKeys } from './bus/bus-keys.js';
import { SignedBus } from './bus/signed-bus.js';
import { poolKeys } from './pools/pool-keys.js';
import { PayloadSeal } from './seal/payload-seal.js';
import { isSignedWith } from './signing/signed-result.js';

/*
 * Processes of two releases run beside each other during an upgrade (docs/operate/upgrading.md), so each release reads
 * what the one before has written. A new format gets a version of its own and examples here; those of the release
 * before stay.
 */

const key = 'ab'.repeat(32);
const text = '{"id":"w"}';

/** Written by 0.1.0. */
const released = {
  ofInstallation:
    's1 [null,"ZVaSG1tE1GPf",1,1000000,"/YVZ3wHub5ykWlodr3VHnDGA8fwM2nCi9+UHypVja5LXfVwK+asy5Hl1CqvjCV13zcktMXJYpMJeZw2zQfKgCA=="]\n',
  ofPool:
    's1 [["a","b"],"VYL_4ynu7-yd",1,1000000,"eersv1n7Ap2iknxPlnpKCsEpxbOa7Bqs7+FPdL089VQRP1OB43N4tRCqI2FYNZH3W++NeVYtSLm9jCdr6syZhw=="]\n',
  credentials: [
    'b:d6f92b95c78bf8821732f07f52725bb48e8b981f8f7239a3437e9247ef51f37c',
    'a:954ef389f39262a00c71cf66bde83cdfb86fa7d34d9968177b4f56ba0dc40ee7',
    '@bus:ab6026eff9344e36594c10112cfeaaf6c450ebfe2ee72b2476f8e9584f5d6225',
  ],
  sealed: 'v1.9a2db2e2.KAY4c+p7lpZeHNA7W0XRMnwux9kV3kImM8zDInxsF6xn8VVVFtq3eWwqRc8=',
  result: {
    requestId: 'r1',
    usage: { promptTokens: 1 },
    proof: {
      keyId: 'k',
      bounds: { completionTokens: 4 },
      signature: 'UggsvWseKNkffoiQgXbvv0kMSQRvYfh52YkGm/rIdn0=',
    },
  } as unknown as JobResult,
};

/** Returns the sender of a message as a process with these keys verifies it; null: the process refuses the message. */
async function receive(message: string, sealKeys: readonly string[]): Promise<BusSender | null> {
  let hear: MessageListener = () => undefined;
  const subscribe = async (_channel: string, listener: MessageListener) => {
    hear = listener;
    return () => undefined;
  };
  const clock = { nowMs: () => 1_000_000, monotonicMs: () => 0 };
  const options = { keys: new BusKeys(sealKeys), namespace: 'test', clock, warn: () => undefined };
  const bus = new SignedBus({ subscribe, onDropped: () => undefined } as unknown as MessageBus, options);
  let heard: BusSender | null = null;
  await bus.subscribe('heartbeat', (_text, sender) => (heard = sender));
  hear(message, null);
  return heard;
}

describe('what an earlier release has written', () => {
  it.each([
    ['the installation', [key]],
    ['a pool', released.credentials],
  ])('is verified on the bus with the keys of %s', async (_whose, sealKeys) => {
    expect(await receive(`${released.ofInstallation}${text}`, sealKeys)).toMatchObject({ models: null });
    expect(await receive(`${released.ofPool}${text}`, sealKeys)).toMatchObject({ models: ['a', 'b'] });
    expect(await receive(`${released.ofPool}${text} `, sealKeys)).toBeNull();
  });

  it('is opened in the queue', () => {
    expect(new PayloadSeal([key]).open('chat.a r1', released.sealed)).toBe('{"text":"Hello"}');
  });

  it('proves a result', () => {
    expect(isSignedWith('s', released.result)).toBe(true);
    expect(isSignedWith('s', { ...released.result, requestId: 'r2' })).toBe(false);
  });

  it('are the credentials of a pool, which need not be printed again', () => {
    expect(poolKeys([key], ['b', 'a'])).toEqual(released.credentials);
  });
});
