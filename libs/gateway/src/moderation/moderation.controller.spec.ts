import { describe, expect, it } from 'vitest';
import { validateBody } from '#platform/validation';
import type { HttpExchange } from '#platform/http';
import { testDouble } from '#test/test-double';
import { ContentPolicy } from '../pipeline/policy/content-policy.js';
import { ModerationController } from './moderation.controller.js';
import { ModerationRequest } from './moderation.request.js';
import { parsePolicy } from '../pipeline/policy/policy-file.js';

/** Takes every image for adult content whose URL says so. */
async function moderate(body: object, file: string | null = 'terms: { en: [napalm], de: [Rohrbombe] }') {
  const watched = file === null ? null : { current: async () => parsePolicy(file) };
  const policy = new ContentPolicy(watched, { of: () => [] }, { classify: async () => [] });
  const http = { request: { id: 'r' } } as HttpExchange;
  const controller = new ModerationController(
    policy,
    testDouble({ openCheck: async () => ({ limit: async () => ({}) }) as never }),
    testDouble({ inputsOf: () => ({ image: async (url: string) => ({ artifactId: url }) }) as never }),
    {
      modelId: 'safety',
      classify: async (_model, id) => {
        const isAdult = id.includes('adult');
        return { sexual: isAdult ? 0.9 : 0.1, isFlagged: isAdult };
      },
    },
  );
  return await controller.moderate(validateBody(ModerationRequest, body), http);
}

describe('POST /moderations', () => {
  it('has a result for each text, with every category that was checked', async () => {
    const { id, model, results } = await moderate({ input: ['Napalm!', 'a bird'], model: 'omni-moderation-latest' });
    expect([id, model]).toEqual(['modr-r', 'content-policy']);
    expect(results.map(({ flagged, categories }) => [flagged, categories])).toEqual([
      [true, { 'terms/en': true, 'terms/de': false }],
      [false, { 'terms/en': false, 'terms/de': false }],
    ]);
    expect((await moderate({ input: 'eine Rohrbombe' })).results).toMatchObject([
      { category_scores: { 'terms/de': 1 } },
    ]);
  });

  it('has one result for the parts of one input', async () => {
    const input = [
      { type: 'text', text: 'a bird' },
      { type: 'text', text: 'napalm' },
    ];
    expect((await moderate({ input })).results).toMatchObject([{ flagged: true }]);
  });

  it.each([
    [undefined, 'input'],
    [[], 'input'],
    [7, 'input'],
    [['a', 7], 'input'],
    [[{ type: 'text' }], 'input'],
    [[{ type: 'input_audio' }], 'input'],
    [[{ type: 'image_url' }], 'input'],
    [[{ type: 'image_url', image_url: { url: 'file:///a.png' } }], 'input[0].image_url.url'],
    [
      Array.from({ length: 17 }, () => ({ type: 'image_url', image_url: { url: 'https://a.b/c.png' } })),
      'input[16].image_url.url',
    ],
  ])('refuses the input %j, naming %s', async (input, param) => {
    await expect(moderate({ input })).rejects.toMatchObject({ code: 'INVALID_REQUEST', param });
  });

  it('classifies images, also without a policy for texts', async () => {
    const image = (name: string) => ({ type: 'image_url', image_url: { url: `https://a.b/${name}.png` } });
    const { results } = await moderate({ input: [image('bird'), image('adult')] }, null);
    expect(results).toEqual([
      {
        flagged: true,
        categories: { sexual: true },
        category_scores: { sexual: 0.9 },
        category_applied_input_types: { sexual: ['image'] },
      },
    ]);
    const both = await moderate({ input: [{ type: 'text', text: 'napalm' }, image('bird')] });
    expect(both.results).toMatchObject([{ categories: { 'terms/en': true, 'terms/de': false, sexual: false } }]);
  });

  it('says that there is no policy instead of calling everything harmless', async () => {
    await expect(moderate({ input: 'a' }, null)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });
});
