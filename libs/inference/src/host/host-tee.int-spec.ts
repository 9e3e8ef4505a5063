import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { canonicalJson, digestOf, type HostAttestation, recoverAddress, signedText } from '#tee';
import { runSourceArguments, sourcePath } from '#test/source-program';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { forkHost } from './host-process.js';
import { HostSupervisor } from './host-supervisor.js';

const modulePath = sourcePath('test/harness/deterministic-host.ts');
const launch = forkHost({ modulePath, execArgv: runSourceArguments });

/** Node options by which a process writes the addresses of the modules that it loads to a file. */
function recordingModules(file: string): string[] {
  const hooks = `import { appendFileSync } from 'node:fs';
    export async function load(url, context, next) {
      appendFileSync(${JSON.stringify(file)}, url + '\\n');
      return await next(url, context);
    }`;
  const address = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  return ['--import', address(`import { register } from 'node:module'; register(${JSON.stringify(address(hooks))});`)];
}

const load = { modelId: 'test', slots: 2, contextLength: 100, providers: ['cpu'] } as unknown as HostLoadOptions;
const text = signedText({ requestHash: 'a'.repeat(64), responseHash: 'b'.repeat(64) });

describe('the key of a model host', () => {
  const supervisors: HostSupervisor[] = [];
  afterEach(async () => {
    await Promise.all(supervisors.splice(0).map((supervisor) => supervisor.drain(0)));
  });

  async function start(tee?: HostLoadOptions['tee'], launcher = launch): Promise<HostSupervisor> {
    const options = { load: { ...load, tee }, launch: launcher, timings: { firstRestartMs: 20 } };
    const supervisor = new HostSupervisor(options);
    supervisors.push(supervisor);
    supervisor.start();
    await expect.poll(() => supervisor.state).toBe('ready');
    return supervisor;
  }

  async function run(supervisor: HostSupervisor, id: string): Promise<void> {
    const messages = [{ role: 'user', content: 'hello [[tokens=2]]' }];
    const request = { id, prompt: { messages }, n: 1, sampling: {}, stop: [], stopTokenIds: [], topLogprobs: null };
    await supervisor.run(request, { signal: new AbortController().signal, onEvents: () => undefined });
  }

  it('is published, attested, and signs what the host ran', async () => {
    const supervisor = await start('software');
    const tee = supervisor.report?.tee as { publicKey: string };
    const nonce = '1f'.repeat(32);
    const attestation = (await supervisor.ask({ type: 'attest', nonce })) as HostAttestation;
    expect(attestation).toMatchObject({ publicKey: tee.publicKey, provider: 'software', nonceMethod: 'raw' });
    await run(supervisor, 'request-1');
    const { signature } = (await supervisor.ask({ type: 'sign', requestId: 'request-1', text })) as {
      signature: string;
    };
    expect(recoverAddress(text, signature)).toBe(attestation.address);
  });

  it('issues a receipt with a signature, in the keys that it attests', async () => {
    const supervisor = await start('software');
    await run(supervisor, 'request-1');
    const exchange = { chatId: 'chatcmpl-1', model: 'test', endpoint: '/api/v1/chat/completions' };
    const sign = (more: object) =>
      supervisor.ask({ type: 'sign', requestId: 'request-1', text, exchange: { ...exchange, ...more } });
    for (const more of [{ chatId: 'two words' }, { endpoint: 'https://example.org' }, { model: '"' }, { chatId: '' }]) {
      await expect(sign(more)).rejects.toMatchObject({ code: 'TEE_SIGNATURE_FAILED' });
    }
    const { receipt } = (await sign({})) as { receipt: string };
    const { workload } = (await supervisor.ask({ type: 'attest', nonce: '1f'.repeat(32) })) as HostAttestation;
    expect(JSON.parse(receipt)).toMatchObject({
      ...{ chat_id: 'chatcmpl-1', model: 'test', endpoint: exchange.endpoint },
      workload_keyset_digest: digestOf(workload?.keyset ?? {}),
      event_log: [{ body_hash: `sha256:${'a'.repeat(64)}` }, { wire_hash: `sha256:${'b'.repeat(64)}` }],
    });
    expect(receipt).toBe(canonicalJson(JSON.parse(receipt)));
  });

  it('signs nothing else: no other request, no request twice, no text of another form', async () => {
    const supervisor = await start('software');
    await run(supervisor, 'request-1');
    const refusal = { code: 'TEE_SIGNATURE_FAILED' };
    const sign = (requestId: string, signed = text) => supervisor.ask({ type: 'sign', requestId, text: signed });
    await expect(sign('request-2')).rejects.toMatchObject(refusal);
    await expect(sign('request-1', 'pay 100 to this address')).rejects.toMatchObject(refusal);
    await sign('request-1');
    await expect(sign('request-1')).rejects.toMatchObject(refusal);
  });

  it('is gone with its process: the next one has another and knows no request of the first', async () => {
    const supervisor = await start('software');
    const before = supervisor.report?.tee;
    await run(supervisor, 'request-1');
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    const during = supervisor.ask({ type: 'sign', requestId: 'request-1', text });
    await expect(during).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    await expect.poll(() => supervisor.restarts > 0 && supervisor.state).toBe('ready');
    expect(supervisor.report?.tee).not.toEqual(before);
    const after = supervisor.ask({ type: 'sign', requestId: 'request-1', text });
    await expect(after).rejects.toMatchObject({ code: 'TEE_SIGNATURE_FAILED' });
  });

  it('does not exist where the hardware gives no evidence; the model runs', async () => {
    const supervisor = await start('tdx');
    expect(supervisor.report?.tee).toMatchObject({
      failure: expect.stringContaining('/sys/kernel/config/tsm/report') as string,
    });
    await run(supervisor, 'request-1');
    const asked = supervisor.ask({ type: 'attest', nonce: '1f'.repeat(32) });
    await expect(asked).rejects.toMatchObject({ code: 'TEE_ATTESTATION_FAILED' });
  });

  it('does not exist where none is wanted', async () => {
    const supervisor = await start();
    expect(supervisor.report?.tee).toBeNull();
    const asked = supervisor.ask({ type: 'attest', nonce: '1f'.repeat(32) });
    await expect(asked).rejects.toMatchObject({ code: 'TEE_ATTESTATION_FAILED' });
  });

  it('loads curves, hashes and evidence in the hosts that make one, and in no others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-modules-'));
    try {
      const counts: number[] = [];
      for (const tee of ['software', undefined] as const) {
        const file = join(folder, String(tee));
        await start(tee, forkHost({ modulePath, execArgv: [...runSourceArguments, ...recordingModules(file)] }));
        const loaded = readFileSync(file, 'utf8').split('\n');
        expect(loaded.length).toBeGreaterThan(20);
        counts.push(loaded.filter((url) => /@noble\/|\/libs\/tee\/src\/(?!sealing\/)/.test(url)).length);
      }
      expect(counts[0]).toBeGreaterThan(10);
      expect(counts[1]).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
