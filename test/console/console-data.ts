import { AccountsRepository, AccountsService } from '#accounts';
import { createLedger } from '#billing';
import {
  bundledCharacterFolder,
  CharacterDocuments,
  CharactersRepository,
  CharactersService,
  DocumentsRepository,
  loadCharacterFolder,
  ReviewsRepository,
} from '#characters';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import type { Platform } from '#test/platform';

/** Text that runs a script, loads an image or leaves the page where it is taken for HTML. */
export const hostile = `<img src=x onerror="window.taken=1"><b>'&amp;{{1}}`;

async function withPrisma<Result>(platform: Platform, use: (prisma: PrismaService) => Promise<Result>) {
  const prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 2 });
  try {
    return await use(prisma);
  } finally {
    await prisma.$disconnect();
  }
}

/** Adds an account that is no operator; returns its ADMIN key. */
export async function addTenant(platform: Platform): Promise<string> {
  return withPrisma(platform, async (prisma) => {
    const accounts = new AccountsService(new AccountsRepository(prisma));
    const { id: accountId } = await accounts.createAccount(hostile);
    await createLedger(prisma).credit('grant', { accountId, currency: 'USD', amountNano: nanosPerUsd });
    return (await accounts.createKey({ accountId, kind: 'ADMIN' })).key;
  });
}

/** Adds a character whose every text is hostile, with a review. */
export async function addHostileCharacter(platform: Platform): Promise<void> {
  await withPrisma(platform, async (prisma) => {
    const [first] = await loadCharacterFolder(bundledCharacterFolder());
    if (first === undefined) throw new Error('no character is bundled');
    const characters = new CharactersService(new CharactersRepository(prisma), new ReviewsRepository(prisma));
    const texts = { name: hostile, description: hostile, greeting: hostile, systemPrompt: hostile, tags: [hostile] };
    await characters.add({ ...first, ...texts, slug: 'hostile', modelId: 'tiny-llama' });
    const review = { accountId: null, rating: 4, message: hostile, username: hostile, locale: 'en' };
    await characters.review('hostile', review);
  });
}

/** Gives the hostile character a document of a hostile name. */
export async function addHostileDocument(platform: Platform): Promise<void> {
  await withPrisma(platform, async (prisma) => {
    const found = await new CharactersRepository(prisma).find('hostile');
    if (found === null) throw new Error('there is no hostile character');
    await new CharacterDocuments(new DocumentsRepository(prisma)).replace(
      found,
      [{ name: `${hostile}.txt`, bytes: Buffer.from('A passage.') }],
      {
        modelId: 'tiny-bert',
        textOf: async ({ bytes }) => bytes.toString(),
        embed: async (texts) => texts.map(() => [1, 0, 0]),
      },
    );
  });
}

export async function chat(platform: Platform, content: string, options: { key?: string; model?: string } = {}) {
  const { key = platform.inferenceKey, model = 'tiny-llama' } = options;
  return fetch(`${platform.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
}

/** Answers that cost something, one that fails and one that is refused. */
export async function addTraffic(platform: Platform): Promise<void> {
  const contents = ['First [[tokens=5]]', 'Second, longer [[tokens=40]]', 'Third [[tokens=12 cached=1]]'];
  for (const content of [...contents, 'Fails [[fail=2]]']) await (await chat(platform, content)).text();
  await (await chat(platform, 'Hello', { model: hostile })).text();
  await platform.closedJobs();
}

export async function getJson<Body>(platform: Platform, path: string, key = platform.adminKey): Promise<Body> {
  const response = await fetch(`${platform.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}
