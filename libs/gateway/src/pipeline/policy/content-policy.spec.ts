import { describe, expect, it } from 'vitest';
import type { OpenCheck } from './classifiers.js';
import { ContentPolicy } from './content-policy.js';
import { parsePolicy } from './policy-file.js';

/** The texts of a job are the members of its payload. */
const texts = {
  of: (_modality: string, payload: object) =>
    Object.entries(payload).map(([param, text]) => ({ param, text: text === null ? null : String(text) })),
};

/** Finds texts with `mean` toxic, and counts what it is asked. */
function classifierOf() {
  const asked: (readonly string[])[] = [];
  const classify = async (_model: unknown, given: readonly string[]) => {
    asked.push(given);
    return given.map((text) => (text.includes('mean') ? [0.1, 0.9] : [0.95, 0.05]));
  };
  return { asked, classify };
}

function policyOf(file: string | null, classifier = classifierOf()): ContentPolicy {
  const watched = file === null ? null : { current: async () => parsePolicy(file) };
  return new ContentPolicy(watched, texts, classifier);
}

/** Opens a model with two classes; `counted` says how its limits were asked for. */
function opener() {
  const counted: unknown[] = [];
  const open: OpenCheck = async (model) =>
    ({
      manifest: { id: model.id, familyOptions: { labels: 'fine,toxic' } },
      limit: async (options: unknown) => counted.push(options),
    }) as never;
  return { open, counted };
}

const { open } = opener();

const bombs = 'terms:\n  en: [pipe bomb]\n  de: [Rohrbombe]\n';

describe('the content policy', () => {
  it('refuses a job with a term in any of its texts and names the field', async () => {
    const policy = policyOf(bombs);
    const job = { modality: 'image', payload: { prompt: 'a bird', negative_prompt: 'eine ROHRBOMBE' } };
    await expect(policy.screen(job, open)).rejects.toMatchObject({
      code: 'CONTENT_POLICY_VIOLATION',
      param: 'negative_prompt',
      message: 'The request violates the content policy.',
    });
    await expect(policy.screen({ modality: 'image', payload: { prompt: 'a pipe' } }, open)).resolves.toBeUndefined();
    expect(await policy.isActive()).toBe(true);
  });

  it('refuses token ids, which it cannot read, while it has terms', async () => {
    const job = { modality: 'chat', payload: { input: null } };
    await expect(policyOf(bombs).screen(job, open)).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'input' });
    await expect(policyOf('terms: {}').screen(job, open)).resolves.toBeUndefined();
  });

  it.each([null, '', 'terms: {}', 'terms:\n  en: []'])('checks nothing without terms: %j', async (file) => {
    const policy = policyOf(file);
    await expect(policy.screen({ modality: 'chat', payload: { prompt: 'pipe bomb' } }, open)).resolves.toBeUndefined();
    expect(await policy.isActive()).toBe(false);
  });
});

describe('a content policy with a classifier', () => {
  const file = 'classifier: { model: tox, threshold: 0.8 }';

  it('refuses a text that the model finds harmful, naming its field, at no cost in limits', async () => {
    const classifier = classifierOf();
    const policy = policyOf(file, classifier);
    const { open: openCounted, counted } = opener();
    const payload = { prompt: 'a bird', negative_prompt: 'a mean bird', other: ' ', again: 'a bird' };
    await expect(policy.screen({ modality: 'image', payload }, openCounted)).rejects.toMatchObject({
      code: 'CONTENT_POLICY_VIOLATION',
      param: 'negative_prompt',
    });
    expect(classifier.asked).toEqual([['a bird', 'a mean bird']]);
    expect(counted).toEqual([{ isCounted: false }]);
    await expect(policy.screen({ modality: 'image', payload: { prompt: 'a bird' } }, open)).resolves.toBeUndefined();
    expect(await policy.isActive()).toBe(true);
  });

  it('asks the model only for texts that its terms allow, and for none without any', async () => {
    const classifier = classifierOf();
    const policy = policyOf(`${bombs}${file}`, classifier);
    const job = { modality: 'image', payload: { prompt: 'pipe bomb', other: 'mean' } };
    await expect(policy.screen(job, open)).rejects.toMatchObject({ param: 'prompt' });
    await expect(policy.screen({ modality: 'image', payload: { prompt: '' } }, open)).resolves.toBeUndefined();
    expect(classifier.asked).toEqual([]);
  });

  it('has a finding per term list and class', async () => {
    const found = await policyOf(`${bombs}${file}`).examine([['a bird', 'a mean pipe bomb'], []], {
      param: 'input',
      open,
    });
    expect(found).toEqual([
      [
        { category: 'terms/en', score: 1, isFlagged: true, input: 'text' },
        { category: 'terms/de', score: 0, isFlagged: false, input: 'text' },
        { category: 'toxic', score: 0.9, isFlagged: true, input: 'text' },
      ],
      [
        { category: 'terms/en', score: 0, isFlagged: false, input: 'text' },
        { category: 'terms/de', score: 0, isFlagged: false, input: 'text' },
        { category: 'toxic', score: 0, isFlagged: false, input: 'text' },
      ],
    ]);
  });
});

describe('a policy file', () => {
  it.each([
    ['- pipe bomb', 'the file: must be a mapping'],
    ['words: { en: [a] }', 'words: is unknown'],
    ['terms: [a]', 'terms: must be a mapping'],
    ['terms: { English: [a] }', 'terms.English: must be a language'],
    ['terms: { en: bomb }', 'terms.en: must be a list'],
    ['terms: { en: [bomb, ""] }', 'terms.en[1]: must be a text'],
    ['terms: { en: ["?!"] }', 'terms.en[0]: must be a text'],
    ['classifier: tox', 'classifier: must be a mapping'],
    ['classifier: { threshold: 0.5 }', 'classifier.model: must be the id of a model'],
    ['classifier: { model: tox, threshold: 2 }', 'classifier.threshold: must be a number above 0'],
    ['classifier: { model: tox, treshold: 0.5 }', 'classifier.treshold: is unknown'],
    ['terms: { en: [7] }', 'terms.en[0]: must be a text'],
    [`terms: { en: [${'x'.repeat(201)}] }`, 'terms.en[0]: must be a text'],
  ])('is refused with the wrong member: %s', (text, problem) => {
    expect(() => parsePolicy(text)).toThrow(problem);
  });
});
