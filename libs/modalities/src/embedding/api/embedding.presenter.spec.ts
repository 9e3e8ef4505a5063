import { describe, expect, it } from 'vitest';
import type { EmbeddingEvent } from '../contract/embedding.events.js';
import { EmbeddingCollector, presentEmbeddings } from './embedding.presenter.js';

function event(indexes: number[], vectors: number[][]): EmbeddingEvent {
  const data = Buffer.from(Float32Array.from(vectors.flat()).buffer).toString('base64');
  return { type: 'vectors-ready', indexes, dimensions: vectors[0]?.length ?? 0, data };
}

function gathered() {
  const collector = new EmbeddingCollector(3);
  collector.add(
    event(
      [2, 0],
      [
        [0.1, 0.2],
        [-1, 3],
      ],
    ),
  );
  collector.add(event([1], [[5, 6]]));
  // A worker that took over sends the same vectors again.
  collector.add(event([2], [[0.1, 0.2]]));
  return collector.all();
}

const response = { modelId: 'm', promptTokens: 7 };

describe('the response to an embedding request', () => {
  it('has the vectors in the order of the texts, exact to the last bit of a float32', async () => {
    const body = await presentEmbeddings({ ...response, vectors: gathered(), format: 'float' });
    expect(JSON.parse(body)).toEqual({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [-1, 3] },
        { object: 'embedding', index: 1, embedding: [5, 6] },
        { object: 'embedding', index: 2, embedding: [Math.fround(0.1), Math.fround(0.2)] },
      ],
      model: 'm',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });

  it('is little-endian float32 in base64 on request', async () => {
    const body = JSON.parse(await presentEmbeddings({ ...response, vectors: gathered(), format: 'base64' })) as {
      data: { embedding: string }[];
    };
    const bytes = Buffer.from(body.data[2]?.embedding ?? '', 'base64');
    expect([bytes.length, bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([8, Math.fround(0.1), Math.fround(0.2)]);
  });

  it('yields to the event loop while it writes a large one', async () => {
    const vectors = Array.from({ length: 500 }, () => Buffer.alloc(384 * 4));
    let immediates = 0;
    const count = () => {
      immediates += 1;
      handle = setImmediate(count);
    };
    let handle = setImmediate(count);
    await presentEmbeddings({ ...response, vectors, format: 'float' });
    clearImmediate(handle);
    expect(immediates).toBeGreaterThan(2);
  });

  it('fails if a vector is missing or incomplete', () => {
    const collector = new EmbeddingCollector(2);
    collector.add(event([0], [[1, 2]]));
    expect(() => collector.all()).toThrow(/before it was complete/);
    expect(() => collector.add({ ...event([1], [[1, 2]]), dimensions: 3 })).toThrow(/before it was complete/);
  });
});
