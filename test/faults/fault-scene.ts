import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { ModelManifest } from '#model-registry/manifest';
import type { Transport } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, type PlatformOptions, startPlatform } from '#test/platform';
import { installTinyModel } from '#test/tiny-models';

/** `npm test -- faults --quick`: every suite, with fewer trials and shorter outages. */
export const isQuick = process.env.SLUICE_TEST_FAULTS === 'quick';

/** Number of trials, length of an outage, or queues to run on. */
export function amount<Amount>({ full, quick }: { full: Amount; quick: Amount }): Amount {
  return isQuick ? quick : full;
}

/** Lock time of a worker without renewal, in ms: the `lockMs` of `chatJob`. */
export const lockMs = 10_000;

export interface FaultOptions extends PlatformOptions {
  /** The suite runs once for each; default: Redis only. */
  transports?: readonly Transport[];
  /** Models besides the tiny text model. */
  install?: (home: string) => Promise<ModelManifest[]>;
}

/**
 * A platform in real processes for the tests of one fault, one per transport. Every test ends with invariant I: no job
 * is open after twice the lock, and the ledger is consistent.
 */
export function describeFault(
  title: string,
  options: FaultOptions,
  tests: (running: () => Platform, transport: Transport) => void,
): void {
  const { transports = ['redis'], install, ...platformOptions } = options;
  describe.each(transports)(`${title}, with the queue on %s`, (transport) => {
    let platform: Platform | undefined;
    let home: string | undefined;
    const running = (): Platform => {
      if (platform === undefined) throw new Error('the platform did not start');
      return platform;
    };

    beforeAll(async () => {
      // Rate limits have their own tests; here one account sends more than any client may.
      const env = { SLUICE_RATE_LIMITS: 'false', ...platformOptions.env };
      const models = install && (await installAll((home = await mkdtemp(join(tmpdir(), 'sluice-home-'))), install));
      platform = await startPlatform({ transport, ...platformOptions, ...models, env });
    });

    afterAll(async () => {
      await platform?.stop();
      if (home !== undefined) await rm(home, { recursive: true, force: true });
    });

    afterEach(async () => {
      await running().closedJobs(2 * lockMs);
      await expectInvariant(running());
    });

    tests(running, transport);
  });
}

async function installAll(home: string, install: NonNullable<FaultOptions['install']>): Promise<PlatformOptions> {
  return { home, manifests: [await installTinyModel(home), ...(await install(home))] };
}

/** Waits for an eventual condition on a machine of any speed; timing assertions use recorded times. */
export async function eventually<Value>(
  what: string,
  look: () => Promise<Value | null | undefined | false>,
  withinMs = 60_000,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value !== null && value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`timed out after ${withinMs} ms: ${what}`);
    await pause(20);
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
