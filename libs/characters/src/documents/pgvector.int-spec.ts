import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite/vector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { freePort } from '#test/free-port';
import { CharactersService } from '../characters.service.js';
import { CharacterDocuments } from './character-documents.service.js';
import { CharactersRepository } from '../characters.repository.js';
import { ReviewsRepository } from '../reviews.repository.js';
import { DocumentsRepository } from './documents.repository.js';

/* The search in documents with the extension pgvector, which the PostgreSQL of the other tests lacks. */

let database: PGlite;
let server: PGLiteSocketServer;
let prisma: PrismaService;

beforeAll(async () => {
  database = await PGlite.create({ extensions: { vector } });
  const port = await freePort();
  server = new PGLiteSocketServer({ db: database, port, host: '127.0.0.1', maxConnections: 4 });
  await server.start();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await migrate({ url });
  prisma = new PrismaService({ url, poolSize: 1 });
});

afterAll(async () => {
  await prisma?.$disconnect();
  await server?.stop();
  await database?.close();
});

const texts = ['ship ship ship', 'bread ship', 'bread', 'nothing'];
const vectorOf = (text: string): number[] => [text.split('ship').length - 1, text.split('bread').length - 1, 0.1];

it('finds the same passages with and without pgvector', async () => {
  const character = await new CharactersService(new CharactersRepository(prisma), new ReviewsRepository(prisma)).add({
    slug: 'ada',
    name: 'Ada',
    description: null,
    systemPrompt: 'You are Ada.',
    greeting: null,
    modelId: 'default',
    author: 'Ada',
    tags: [],
    adult: false,
    webEnabled: false,
    photoUrl: null,
    shareUrl: null,
    featured: false,
  });
  const files = texts.map((text, index) => ({ name: `${index}.md`, bytes: Buffer.from(text) }));
  const tools = {
    modelId: 'm',
    textOf: ({ bytes }: { bytes: Buffer }) => Promise.resolve(bytes.toString()),
    embed: (given: readonly string[]) => Promise.resolve(given.map(vectorOf)),
  };
  await new CharacterDocuments(new DocumentsRepository(prisma)).replace(character, files, tools);
  const question = vectorOf('bread bread ship');
  const plain = await new CharacterDocuments(new DocumentsRepository(prisma)).search(character.id, question, 4);
  await database.exec('CREATE EXTENSION vector');
  const withVector = await new CharacterDocuments(new DocumentsRepository(prisma)).search(character.id, question, 4);
  expect(withVector.map(({ name }) => name)).toEqual(['1.md', '2.md', '0.md', '3.md']);
  expect(withVector.map(({ name }) => name)).toEqual(plain.map(({ name }) => name));
  for (const [index, { similarity }] of withVector.entries()) {
    expect(similarity).toBeCloseTo(plain[index]?.similarity ?? Number.NaN, 5);
  }
  // Vectors of another length are refused by its operator, and not by the other expression.
  await expect(new CharacterDocuments(new DocumentsRepository(prisma)).search(character.id, [1, 0], 1)).rejects.toThrow(
    /dimensions/,
  );
});
