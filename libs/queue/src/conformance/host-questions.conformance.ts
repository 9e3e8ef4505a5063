import { PlatformError } from '#common';
import { describe, expect, it } from 'vitest';
import { heartbeat, until } from './echo-job.conformance.js';
import { sealKey, type World } from './fixture.conformance.js';

export function describeHostQuestions(world: () => World): void {
  const ask = (processId: string, word: string) => ({ processId, modelId: 'm', question: { word } });

  describe('questions to model hosts', () => {
    it('reach the worker that they name and no other, and bring its answer', async () => {
      const { api, worker } = await world().openPair();
      const other = await world().open('worker-2');
      await worker.membership.join(() => heartbeat('w1', null));
      await other.membership.join(() => heartbeat('w2', null));
      const heard: string[] = [];
      await worker.hosts.answer(({ modelId, question }) => {
        heard.push('w1');
        return Promise.resolve({ ...question, modelId, by: 'w1' });
      });
      await other.hosts.answer(({ question }) => {
        heard.push('w2');
        return Promise.resolve({ ...question, by: 'w2' });
      });
      expect(await api.hosts.ask(ask('w1', 'one'), 10_000)).toEqual({ word: 'one', modelId: 'm', by: 'w1' });
      expect(await api.hosts.ask(ask('w2', 'two'), 10_000)).toEqual({ word: 'two', by: 'w2' });
      expect(heard).toEqual(['w1', 'w2']);
    });

    it('bring answers that are longer than a message of the store, many at once', async () => {
      const { api, worker } = await world().openPair();
      await worker.membership.join(() => heartbeat('w1', null));
      await worker.hosts.answer(({ question }) => Promise.resolve({ ...question, quote: 'é'.repeat(40_000) }));
      const words = Array.from({ length: 20 }, (_, index) => `word ${index}`);
      const answers = await Promise.all(words.map((word) => api.hosts.ask(ask('w1', word), 20_000)));
      expect(answers).toEqual(words.map((word) => ({ word, quote: 'é'.repeat(40_000) })));
    });

    it('bring the error of the host', async () => {
      const { api, worker } = await world().openPair();
      await worker.membership.join(() => heartbeat('w1', null));
      await worker.hosts.answer(() => Promise.reject(new PlatformError('MODEL_OFFLINE', 'gone', 'model')));
      await expect(api.hosts.ask(ask('w1', 'one'), 10_000)).rejects.toMatchObject({
        code: 'MODEL_OFFLINE',
        message: 'gone',
        param: 'model',
      });
    });

    it('fail when nobody is there', async () => {
      const { api } = await world().openPair();
      await expect(api.hosts.ask(ask('nobody', 'one'), 50)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    });

    it('are not taken from a process that has the keys of some models only', async () => {
      const { api, worker } = await world().openPair();
      await worker.membership.join(() => heartbeat('w1', null));
      const heard: string[] = [];
      await worker.hosts.answer(({ question }) => {
        heard.push((question as { word: string }).word);
        return Promise.resolve({});
      });
      const pool = await world().open('worker-pool', { sealKeys: [`m:${'ab'.repeat(32)}`] });
      await pool.replies.start();
      await expect(pool.hosts.ask(ask('w1', 'from a pool'), 200)).rejects.toThrow();
      expect(sealKey).not.toBe('ab'.repeat(32));
      await api.hosts.ask(ask('w1', 'from the api'), 10_000);
      await until(() => heard.length > 0);
      expect(heard).toEqual(['from the api']);
    });
  });
}
