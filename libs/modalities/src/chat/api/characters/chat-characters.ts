import { Injectable } from '@nestjs/common';
import { type Character, CharactersService, CharacterUses, defaultModel } from '#characters';
import { invalidField } from '#gateway';
import { parseModelName } from '#model-registry';
import type { ChatCompletionRequest } from '../../contract/chat.request.js';
import type { RawPrompts } from '../job/chat.normalizer.js';
import type { PlatformPrompts } from '../job/chat.model.js';
import { sourcesInstruction } from './source-texts.js';

/** The character that a request takes on. */
export interface ChatCharacter {
  /** The `model` of the request, with the character's model in place of the trait `default`. */
  modelName: string | null | undefined;
  character: Character;
  prompts: Pick<PlatformPrompts, 'characterPrompt'>;
  /** Counts a chat that was admitted. */
  countUse(): void;
}

/** Finds the characters that requests name in `service_parameters` or in the suffix of their model. */
@Injectable()
export class ChatCharacters {
  constructor(
    private readonly characters: CharactersService,
    private readonly uses: CharacterUses,
  ) {}

  /**
   * Null if the request names no character, or one that does not exist: `normalizeChat` refuses that. Throws
   * `INVALID_REQUEST` for a character that is to continue plain texts.
   */
  async of(
    { model, service_parameters: parameters }: Pick<ChatCompletionRequest, 'model' | 'service_parameters'>,
    { prompts }: RawPrompts = {},
  ): Promise<ChatCharacter | null> {
    const { name, suffix } = parseModelName(model ?? defaultModel);
    const slug = parameters?.character_slug ?? suffix['character_slug'];
    if (slug === undefined) return null;
    if (prompts !== undefined) {
      throw invalidField('A character needs a conversation: use /chat/completions.', 'model', 'unsupported');
    }
    const character = await this.characters.recall(slug);
    if (character === null) return null;
    const ownModel = (model ?? defaultModel).slice(name.length);
    return {
      modelName: name === defaultModel ? `${character.modelId}${ownModel}` : model,
      character,
      prompts: { characterPrompt: characterPrompt(character) },
      countUse: () => this.uses.count(character.id),
    };
  }
}

/** The same for every chat with the character, so that all accounts share its cached prefix. */
function characterPrompt({ systemPrompt, greeting, documentsModel }: Character): string {
  const opening = greeting === null ? [] : [`You opened this conversation with this message:\n${greeting}`];
  const sources = documentsModel === null ? [] : [sourcesInstruction];
  return [systemPrompt, ...sources, ...opening].join('\n\n');
}
