import { createHash } from 'node:crypto';
import type { PrismaService } from '#platform/prisma';
import type { CharacterDefinition } from '../character.js';
import { CharactersRepository } from '../characters.repository.js';
import { BundledCharactersRepository } from './bundled-characters.repository.js';

/**
 * Installs the characters of the product that are new, and new versions of those that the operator left alone. What the
 * operator changed or removed stays so. Returns the slugs that changed.
 */
export async function installBundled(
  prisma: PrismaService,
  bundled: readonly CharacterDefinition[],
): Promise<string[]> {
  const characters = new CharactersRepository(prisma);
  const records = new BundledCharactersRepository(prisma);
  const installed = await records.hashes();
  const changed: string[] = [];
  for (const definition of bundled) {
    const { slug } = definition;
    const hash = hashOf(definition);
    const known = installed.get(slug);
    if (known === hash) continue;
    if (known === undefined) {
      if (await characters.insert(definition)) changed.push(slug);
    } else {
      const current = await characters.find(slug);
      if (current === null || hashOf(current) !== known) continue;
      await characters.save(definition);
      changed.push(slug);
    }
    await records.record(slug, hash);
  }
  return changed;
}

function hashOf(character: CharacterDefinition): string {
  const { slug, name, description, systemPrompt, greeting, modelId, tags, author } = character;
  const { adult, featured, webEnabled, photoUrl, shareUrl } = character;
  const texts = [slug, name, description, systemPrompt, greeting, modelId, tags, author];
  const content = JSON.stringify([...texts, adult, featured, webEnabled, photoUrl, shareUrl]);
  return createHash('sha256').update(content).digest('hex');
}
