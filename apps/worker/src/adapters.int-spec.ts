import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextTokenizer } from '#inference';
import { forkHost } from '#inference/host';
import { MediaTools } from '#media';
import { type ModelManifest, validateManifest } from '#model-registry/manifest';
import { modelFolder, pullModels, removeInstalledModel, silentReporter } from '#model-store';
import { createLogger } from '#platform/logging';
import { createTransport, type JobResult, type QueueTransport } from '#queue';
import { createArtifactStore } from '#storage';
import { deterministicManifest } from '#test/deterministic-model';
import { createTestDatabase } from '#test/postgres';
import { askChat } from '#test/queued-chat';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { type AdapterText, expectedAdapterTexts, tinyAdapterFolder } from '#test/tiny-adapters';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { Worker } from './worker.js';

const adapters = ['tuned-all', 'tuned-some'];
const lengths = { contextLength: 128, maxCompletionTokens: 64 };

/** The real engine on a tiny model, with two adapters whose texts the reference implementation wrote. */
describe('a worker with adapters', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let home: string;
  let api: QueueTransport;
  let transport: QueueTransport;
  let worker: Worker;
  const results: JobResult[] = [];
  let allAnswered: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (allAnswered = resolve));

  beforeAll(async () => {
    database = await createTestDatabase();
    home = await mkdtemp(join(tmpdir(), 'sluice-adapters-'));
    const options = { url: database.url, namespace: 'adapters_test' };
    api = await createTransport({ ...options, clientName: 'api' });
    transport = await createTransport({ ...options, clientName: 'worker' });
    await api.replies.start();
    await api.membership.join(() => ({
      processId: 'api-1',
      role: 'api',
      replyAddress: api.replies.address,
      models: [],
    }));
    await api.results.process(async (result) => {
      results.push(result);
      if (results.length === 3) allAnswered();
    });
    worker = new Worker({
      home,
      models: [...adapters],
      settings: { providers: ['cpu'], threads: 1 },
      transport,
      artifacts: createArtifactStore({ home }),
      media: await MediaTools.find(),
      launch: forkHost({
        modulePath: sourcePath('libs/inference/src/host/model-host.main.ts'),
        execArgv: runSourceArguments,
      }),
      logger: createLogger('worker', { level: 'silent' }),
      scanEveryMs: 100,
    });
  });

  afterAll(async () => {
    await worker.stop(0);
    await Promise.all([api.close(), transport.close()]);
    await database.drop();
    await rm(home, { recursive: true, force: true });
  });

  async function pull(manifest: ModelManifest) {
    const [result] = await pullModels({ home, manifests: [manifest], reporter: silentReporter });
    return result;
  }

  const sourcesOf = (folder: string) => [{ uri: `file:${folder}`, files: [] }];

  function adapterManifest(id: string): ModelManifest {
    const { slots: _slots, cacheTokens: _cacheTokens, ...own } = deterministicManifest(id, lengths);
    const lora = { adapterOf: 'base', converter: { kind: 'lora' }, graphFile: 'adapter.json' };
    const sources = sourcesOf(tinyAdapterFolder('llama', id.replace('tuned-', '')));
    return validateManifest({ ...own, ...lora, sources }, id);
  }

  /** Resolves when the heartbeat of the worker reports exactly these models as ready. */
  async function untilReady(ids: readonly string[]): Promise<void> {
    const ready = () =>
      api.membership
        .list()
        .flatMap(({ models }) => models)
        .filter(({ state }) => state === 'ready')
        .map(({ modelId }) => modelId);
    await new Promise<void>((resolve) => {
      const check = () => {
        if (ready().sort().join() !== [...ids].sort().join()) return;
        stop();
        resolve();
      };
      const stop = api.membership.onChange(check);
      check();
    });
  }

  /** Returns the greedy continuation of a known prompt, as long as the known one. */
  async function continueText(modelId: string, known: AdapterText | undefined): Promise<string> {
    const { promptIds = [], tokens = [] } = known ?? {};
    const reply = await askChat(api, {
      requestId: `ask-${modelId}`,
      modelId,
      content: '',
      prompts: [{ tokenIds: promptIds, param: 'prompt' }],
      maxTokens: tokens.length,
      sampling: { temperature: 0 },
    });
    let text = '';
    for await (const event of reply) {
      if (event.type === 'text-delta' && 'text' in event) text += String(event.text);
      if (event.type === 'job-failed') throw new Error(JSON.stringify(event));
      if (event.type === 'job-finished') break;
    }
    reply.close();
    return text;
  }

  it('pulls an adapter after its base only', async () => {
    const orphan = await pull(adapterManifest('tuned-all'));
    expect(orphan?.status === 'failed' && orphan.error.message).toContain('base, which is not installed here');
    const source = join(home, 'source');
    await mkdir(source);
    await copyTinyDecoder('llama', source);
    const base = deterministicManifest('base', {
      ...lengths,
      cacheTokens: 512,
      converter: { kind: 'safetensors' },
      sources: sourcesOf(source),
    });
    const manifests = [...adapters.map(adapterManifest), base];
    const pulled = await pullModels({ home, manifests, reporter: silentReporter });
    expect(pulled.map(({ modelId, status }) => [modelId, status])).toEqual([
      ['base', 'installed'],
      ['tuned-all', 'installed'],
      ['tuned-some', 'installed'],
    ]);
  }, 120_000);

  it('answers for base and adapters at once, each as the reference does', async () => {
    await worker.start();
    await untilReady(['base', ...adapters]);
    const tokenizer = await TextTokenizer.load(modelFolder(home, 'base'));
    const texts = Object.entries(await expectedAdapterTexts('llama'));
    const asked = texts.map(([name, [text]]) => continueText(name === 'base' ? name : `tuned-${name}`, text));
    const answers = await Promise.all(asked);
    expect(answers).toEqual(texts.map(([, [text]]) => tokenizer.decode(text?.tokens ?? [])));
    expect(new Set(answers).size).toBe(3);
    const usage = { promptTokens: texts[0]?.[1][0]?.promptIds.length, completionTokens: 6 };
    await answered;
    for (const result of results) expect(result).toMatchObject({ status: 'succeeded', usage });
  }, 120_000);

  it('goes on without an adapter that is removed', async () => {
    await removeInstalledModel(home, 'tuned-some');
    await untilReady(['base', 'tuned-all']);
    expect(worker.models.map(({ id }) => id)).toEqual(['base']);
    expect(worker.withoutReplica).toEqual([]);
  }, 120_000);
});
