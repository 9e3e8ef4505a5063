import { describe, expect, it } from 'vitest';
import { type DeltaEvent, delta, numbered, readAll, sleep, until } from './echo-job.conformance.js';
import { request, type World } from './fixture.conformance.js';

export function describeReplies(world: () => World): void {
  describe('reply channel', () => {
    it('carries 100 000 deltas of 100 requests, in order, with none lost or repeated', async () => {
      const { api, worker } = await world().openPair();
      const requests = Array.from({ length: 100 }, (_value, index) => `request-${index}`);
      const reading = requests.map(async (requestId) => {
        const texts: string[] = [];
        for await (const event of api.replies.open(request(requestId))) {
          if (event.type === 'text-delta') texts.push((event as DeltaEvent).text);
        }
        return texts;
      });
      const writers = requests.map((requestId) => worker.replies.writer(api.replies.address, request(requestId)));
      for (let step = 0; step < 1_000; step += 1) {
        for (const writer of writers) writer.send(delta(`token ${step} `));
        if (step % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      for (const writer of writers) writer.send({ type: 'job-finished' });
      const expected = Array.from({ length: 1_000 }, (_value, step) => `token ${step} `);
      for (const texts of await Promise.all(reading)) expect(texts).toEqual(expected);
    });

    it('loses nothing when its reader is cut off in the middle, nor when the last event fell into the gap', async () => {
      const { worker } = await world().openPair();
      const { transport: api, wire } = await world().openMortal('api-2');
      await api.replies.start();
      const requests = ['early', 'late'];
      const [early, late] = requests.map((requestId) => readAll(api.replies.open(request(requestId))));
      const writers = requests.map((requestId) => worker.replies.writer(api.replies.address, request(requestId)));
      for (let index = 0; index < 300; index += 1) {
        if (index === 100) wire.break({ isReset: true });
        if (index === 200) wire.restore();
        if (index < 150) writers[0]?.send(delta(`${index}`));
        if (index === 150) writers[0]?.send({ type: 'job-finished' });
        writers[1]?.send(delta(`${index}`));
        await sleep(2);
      }
      writers[1]?.send({ type: 'job-finished' });
      expect(await early).toEqual([...numbered(150), { type: 'job-finished' }]);
      expect(await late).toEqual([...numbered(300), { type: 'job-finished' }]);
    });

    it('carries events larger than any message of the store, in every script', async () => {
      const { api, worker } = await world().openPair();
      const replyStream = api.replies.open(request('large'));
      const writer = worker.replies.writer(api.replies.address, request('large'));
      const texts = ['é', '字', '🙂', '\u0000', 'a'].map((text) => text.repeat(20_000));
      for (const text of texts) writer.send(delta(text));
      writer.send({ type: 'job-finished' });
      expect(await readAll(replyStream)).toEqual([...texts.map(delta), { type: 'job-finished' }]);
    });

    it('ends a reply stream with an error when its reader is slower for longer than the buffer lasts', async () => {
      const { worker } = await world().openPair();
      const api = await world().open('api-2', { replyBufferBytes: 100_000 });
      await api.replies.start();
      const slow = api.replies.open(request('slow'));
      const quick = api.replies.open(request('quick'));
      const writers = ['slow', 'quick'].map((requestId) =>
        worker.replies.writer(api.replies.address, request(requestId)),
      );
      let received = 0;
      const reading = (async () => {
        for await (const event of quick) received += event.type === 'text-delta' ? 1 : 0;
      })();
      for (let sent = 1; sent <= 200; sent += 1) {
        for (const writer of writers) writer.send(delta('x'.repeat(500)));
        // What is on its way to the fast reader always fits its buffer; the slow one never reads.
        if (sent % 20 === 0) await until(() => received === sent);
      }
      for (const writer of writers) writer.send({ type: 'job-finished' });
      await reading;
      await expect(readAll(slow)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    });

    it('drops events of requests without a reader', async () => {
      const { api, worker } = await world().openPair();
      const closed = api.replies.open(request('closed'));
      closed.close();
      worker.replies.writer(api.replies.address, request('closed')).send(delta('x'));
      worker.replies.writer(api.replies.address, request('unknown')).send(delta('x'));
      worker.replies.writer('nobody-lives-here', request('unknown')).send(delta('x'));
      const replyStream = api.replies.open(request('open'));
      worker.replies.writer(api.replies.address, request('open')).send({ type: 'job-finished' });
      expect(await readAll(replyStream)).toEqual([{ type: 'job-finished' }]);
      expect(await readAll(closed)).toEqual([]);
    });

    it('keeps two processes apart', async () => {
      const { api, worker } = await world().openPair();
      const other = await world().open('api-2');
      await other.replies.start();
      const replyStreams = [api, other].map((transport) => transport.replies.open(request('same')));
      worker.replies.writer(api.replies.address, request('same')).send(delta('one'), { type: 'job-finished' });
      worker.replies.writer(other.replies.address, request('same')).send(delta('two'), { type: 'job-finished' });
      expect(await readAll(replyStreams[0])).toEqual([delta('one'), { type: 'job-finished' }]);
      expect(await readAll(replyStreams[1])).toEqual([delta('two'), { type: 'job-finished' }]);
    });
  });
}
