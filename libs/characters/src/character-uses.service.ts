import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { CharactersRepository } from './characters.repository.js';

/** How often the counts are written, in ms. */
const writeEveryMs = 5_000;

/** Counts the chats of each character in memory and adds the counts to the rows every few seconds, in one statement. */
@Injectable()
export class CharacterUses {
  private counts = new Map<string, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly characters: CharactersRepository,
    private readonly logger: Logger,
  ) {}

  count(characterId: string): void {
    this.counts.set(characterId, (this.counts.get(characterId) ?? 0) + 1);
    this.timer ??= setTimeout(() => void this.write(), writeEveryMs).unref();
  }

  /** Writes what was counted. A failure loses it: the numbers order lists, and nothing is charged by them. */
  async write(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { counts } = this;
    if (counts.size === 0) return;
    this.counts = new Map();
    await this.characters
      .addUses(counts)
      .catch((error: unknown) => this.logger.warn({ error }, 'the uses of characters were not counted'));
  }

  /** Nest calls it when the process stops. */
  async onModuleDestroy(): Promise<void> {
    await this.write();
  }
}
