import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AccountsRepository, AccountsService } from '#accounts';
import { PrismaService } from '#platform/prisma';
import { createMigratedDatabase, type TestDatabase } from '#test/postgres';
import { testDouble } from '#test/test-double';
import { installBundled } from './bundled/install-bundled.js';
import { averageRating, type CharacterDefinition, type CharacterFilter, type CharacterSort } from './character.js';
import { CharacterUses } from './character-uses.service.js';
import { CharactersService } from './characters.service.js';
import { CharacterDocuments, documentLimits } from './documents/character-documents.service.js';
import { CharactersRepository } from './characters.repository.js';
import { ReviewsRepository } from './reviews.repository.js';
import { DocumentsRepository } from './documents/documents.repository.js';

let database: TestDatabase;
let prisma: PrismaService;
let characters: CharactersService;
let accountId: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 8 });
  characters = new CharactersService(new CharactersRepository(prisma), new ReviewsRepository(prisma));
  accountId = (await new AccountsService(new AccountsRepository(prisma)).createAccount('reader')).id;
});

afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

beforeEach(async () => {
  for (const { slug } of await characters.all()) await characters.remove(slug);
});

const written = (slug: string, more: Partial<CharacterDefinition> = {}): CharacterDefinition => ({
  ...{ slug, name: slug, description: null, systemPrompt: `You are ${slug}.`, greeting: null, modelId: 'default' },
  ...{ tags: [], author: 'test', adult: false, featured: false, webEnabled: false, photoUrl: null, shareUrl: null },
  ...more,
});

const operatorReview = (rating: number) => ({ accountId: null, rating, message: null, username: 'Ops', locale: null });

async function listed(
  filter: Partial<CharacterFilter> = {},
  { sort = 'featured', descending = true, limit = 50, offset = 0 }: ListOptions = {},
): Promise<string[]> {
  const none = { search: null, tags: [], categories: [], modelIds: [], adult: null, webEnabled: null };
  const page = { sort, descending, limit, offset };
  return (await characters.list({ ...none, ...filter }, page, accountId)).map(({ character }) => character.slug);
}

interface ListOptions {
  sort?: CharacterSort;
  descending?: boolean;
  limit?: number;
  offset?: number;
}

describe('a list of characters', () => {
  beforeEach(async () => {
    await characters.save(written('ada', { name: 'Lady Ada', tags: ['History', 'maths'], featured: true }));
    await characters.save(written('bo', { description: '100% wool_', tags: ['crafts'], modelId: 'm', adult: true }));
    await characters.save(written('cy', { webEnabled: true, tags: ['maths'] }));
  });

  it('is filtered by each parameter', async () => {
    expect(await listed()).toEqual(['ada', 'bo', 'cy']);
    expect(await listed({ search: 'LADY' })).toEqual(['ada']);
    expect(await listed({ search: '%' })).toEqual(['bo']);
    expect(await listed({ search: '_' })).toEqual(['bo']);
    expect(await listed({ search: 'craft' })).toEqual(['bo']);
    expect(await listed({ tags: ['history', 'crafts'] })).toEqual(['ada', 'bo']);
    expect(await listed({ tags: ['maths'], categories: ['HISTORY'] })).toEqual(['ada']);
    expect(await listed({ modelIds: ['m'] })).toEqual(['bo']);
    expect(await listed({ adult: false })).toEqual(['ada', 'cy']);
    expect(await listed({ webEnabled: true })).toEqual(['cy']);
  });

  it('is sorted and paged', async () => {
    for (const rating of [5, 4]) await characters.review('bo', operatorReview(rating));
    await characters.review('cy', operatorReview(5));
    expect(await listed({}, { sort: 'highestRating' })).toEqual(['cy', 'bo', 'ada']);
    expect(await listed({}, { sort: 'highlyRated' })).toEqual(['bo', 'cy', 'ada']);
    expect(await listed({}, { sort: 'highlyRatedAndRecent' })).toEqual(['bo', 'cy', 'ada']);
    expect(await listed({}, { sort: 'ratingCount' })).toEqual(['bo', 'cy', 'ada']);
    expect(await listed({}, { sort: 'mostRecent', descending: false })).toEqual(['ada', 'bo', 'cy']);
    expect(await listed({}, { sort: 'ratingCount', limit: 1, offset: 1 })).toEqual(['cy']);
  });

  it('counts chats in memory and writes them together', async () => {
    const uses = new CharacterUses(new CharactersRepository(prisma), testDouble({ warn: expect.fail }));
    const { id } = await characters.find('cy');
    for (let chat = 0; chat < 3; chat += 1) uses.count(id);
    await uses.write();
    expect((await characters.find('cy')).uses).toBe(3n);
    expect((await listed({}, { sort: 'imports' }))[0]).toBe('cy');
  });
});

describe('a character', () => {
  it('is added once, replaced and removed', async () => {
    await characters.add(written('ada'));
    await expect(characters.add(written('ada'))).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'slug' });
    await characters.review('ada', operatorReview(5));
    expect(await characters.save(written('ada', { name: 'New' }))).toMatchObject({ name: 'New', ratingCount: 1 });
    await characters.remove('ada');
    for (const slug of ['ada', 'A', 'a\0', 'x'.repeat(10_000)]) {
      await expect(characters.find(slug)).rejects.toMatchObject({ code: 'CHARACTER_NOT_FOUND' });
      expect(await characters.recall(slug)).toBeNull();
    }
  });

  it('is reviewed once by each account, however many reviews come at once', async () => {
    await characters.add(written('ada'));
    const review = (rating: number) => ({ ...operatorReview(rating), accountId });
    await Promise.all([5, 1, 3, 2].map((rating) => characters.review('ada', review(rating))));
    await characters.review('ada', review(4));
    await characters.review('ada', operatorReview(1));
    const { character, reviews } = await characters.reviews('ada', { page: 1, pageSize: 1 });
    expect(reviews).toHaveLength(1);
    expect(character).toMatchObject({ ratingCount: 2, ratingSum: 5 });
    expect(averageRating(character)).toBe(2.5);
    expect((await characters.findRated('ada', accountId)).userRating).toBe(4);
  });
});

describe('the characters of the product', () => {
  it('are installed once, and what the operator changed or removed stays', async () => {
    const first = ['kept', 'changed', 'removed'].map((slug) => written(slug));
    expect(await installBundled(prisma, first)).toEqual(['kept', 'changed', 'removed']);
    expect(await installBundled(prisma, first)).toEqual([]);
    await characters.save(written('changed', { name: 'Ours' }));
    await characters.remove('removed');
    await characters.save(written('own', { name: 'Own' }));
    const newer = [...first, written('own')].map((each) => ({ ...each, systemPrompt: 'Newer.' }));
    expect(await installBundled(prisma, newer)).toEqual(['kept']);
    const prompts = (await characters.all()).map(({ slug, systemPrompt }) => [slug, systemPrompt]);
    expect(prompts).toEqual([
      ['changed', 'You are changed.'],
      ['kept', 'Newer.'],
      ['own', 'You are own.'],
    ]);
  });
});

describe('the documents of a character', () => {
  const files = (texts: Record<string, string>) =>
    Object.entries(texts).map(([name, text]) => ({ name, bytes: Buffer.from(text) }));
  /** Two axes: how often the text speaks of ships, and of bread. */
  const vectorOf = (text: string) => [text.split('ship').length - 1, text.split('bread').length - 1, 0.1];
  const embedded: string[] = [];
  const tools = (modelId: string) => ({
    modelId,
    textOf: ({ bytes }: { bytes: Buffer }) => Promise.resolve(bytes.toString()),
    embed: (texts: readonly string[]) => Promise.resolve(texts.map((text) => (embedded.push(text), vectorOf(text)))),
  });

  it('follow their folder, and only what changed is embedded again', async () => {
    const documents = new CharacterDocuments(new DocumentsRepository(prisma));
    const replace = async (texts: Record<string, string>, modelId = 'm') =>
      await documents.replace(await characters.save(written('ada')), files(texts), tools(modelId));
    const first = await replace({ 'a.md': 'A ship.', 'b.md': 'Some bread.' });
    expect(first).toEqual({ added: ['a.md', 'b.md'], removed: [], kept: [] });
    embedded.length = 0;
    const second = await replace({ 'a.md': 'A ship.', 'b.md': 'Fresh bread.', 'c.md': 'bread and ship' });
    expect(second).toEqual({ added: ['b.md', 'c.md'], removed: [], kept: ['a.md'] });
    expect(embedded).toEqual(['Fresh bread.', 'bread and ship']);
    expect((await replace({ 'a.md': 'A ship.' })).removed).toEqual(['b.md', 'c.md']);
    expect((await replace({ 'a.md': 'A ship.' }, 'other')).added).toEqual(['a.md']);
    expect((await characters.find('ada')).documentsModel).toBe('other');
    await expect(replace({ 'a.md': ' ' })).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'a.md' });
    expect(await documents.list((await characters.find('ada')).id)).toMatchObject([{ name: 'a.md', passages: 1 }]);
    await documents.clear(await characters.find('ada'));
    expect((await characters.find('ada')).documentsModel).toBeNull();
  });

  it('are added and removed one by one, up to the limits, and by one model', async () => {
    const documents = new CharacterDocuments(new DocumentsRepository(prisma));
    const add = async (name: string, text: string, { modelId = 'm', param = 'file' } = {}) => {
      const ada = await characters.find('ada');
      return await documents.add(ada, { name, bytes: Buffer.from(text) }, { ...tools(modelId), param });
    };
    const listed = async () => (await documents.list((await characters.find('ada')).id)).map(({ name }) => name);
    await characters.save(written('ada'));
    await add('a.md', 'A ship.');
    embedded.length = 0;
    expect(await add('b.md', 'Bread.')).toEqual({ added: ['b.md'], removed: [], kept: ['a.md'] });
    expect(await add('b.md', 'Fresh bread.')).toEqual({ added: ['b.md'], removed: [], kept: ['a.md'] });
    expect(await add('b.md', 'Fresh bread.')).toEqual({ added: [], removed: [], kept: ['a.md', 'b.md'] });
    expect([embedded, await listed()]).toEqual([
      ['Bread.', 'Fresh bread.'],
      ['a.md', 'b.md'],
    ]);
    await expect(add('c.md', ' ')).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'file' });
    await expect(add('c.md', 'A ship.', { modelId: 'n' })).rejects.toMatchObject({ param: 'model', message: / m: / });
    const long = `${'ship '.repeat(170)}\n\n`.repeat(documentLimits.passages - 1);
    await expect(add('c.md', long)).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'file' });
    const full = Object.fromEntries(
      Array.from({ length: documentLimits.files }, (_, index) => [`${index}`, 'A ship.']),
    );
    await characters.save(written('bo'));
    await documents.replace(await characters.find('bo'), files(full), tools('m'));
    const addToFull = async (name: string) =>
      await documents.add(await characters.find('bo'), { name, bytes: Buffer.from('A boat.') }, tools('m'));
    expect((await addToFull('0')).added).toEqual(['0']);
    await expect(addToFull('one-more')).rejects.toMatchObject({ code: 'INVALID_REQUEST', param: 'one-more' });
    const remove = async (name: string) => {
      const ada = await characters.find('ada');
      const found = (await documents.list(ada.id)).find((document) => document.name === name);
      await documents.remove(ada, found?.id ?? '');
    };
    await remove('b.md');
    await expect(remove('b.md')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    // The only document may come back in vectors of another model.
    await add('a.md', 'A ship.', { modelId: 'n' });
    expect((await characters.find('ada')).documentsModel).toBe('n');
    await remove('a.md');
    expect([await listed(), (await characters.find('ada')).documentsModel]).toEqual([[], null]);
  });

  it('change for one of several writers at once', async () => {
    const documents = new CharacterDocuments(new DocumentsRepository(prisma));
    const ada = await characters.save(written('ada'));
    const names = ['a.md', 'b.md', 'c.md'];
    const writers = names.map((name) => documents.add(ada, { name, bytes: Buffer.from(name) }, tools(name)));
    const results = await Promise.allSettled(writers);
    const winners = names.filter((_, index) => results[index]?.status === 'fulfilled');
    const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as object] : []));
    expect(winners).toHaveLength(1);
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect((await documents.list(ada.id)).map(({ name }) => name)).toEqual(winners);
    expect((await characters.find('ada')).documentsModel).toBe(winners[0]);
    await characters.remove('ada');
    await expect(documents.clear(ada)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('are searched by the cosine, each character for itself', async () => {
    const documents = new CharacterDocuments(new DocumentsRepository(prisma));
    const [ada, bo] = [await characters.save(written('ada')), await characters.save(written('bo'))];
    const texts = { 'a.md': 'ship ship ship', 'b.md': 'bread ship', 'c.md': 'bread' };
    await documents.replace(ada, files(texts), tools('m'));
    await documents.replace(bo, files({ 'secret.md': 'bread' }), tools('m'));
    const found = await documents.search(ada.id, vectorOf('bread bread'), 2);
    expect(found.map(({ name }) => name)).toEqual(['c.md', 'b.md']);
    const [question, answer] = [vectorOf('bread bread'), vectorOf('bread')];
    const product = question.reduce((sum, value, index) => sum + value * (answer[index] ?? 0), 0);
    expect(found[0]?.similarity).toBeCloseTo(product / (Math.hypot(...question) * Math.hypot(...answer)), 5);
  });
});
