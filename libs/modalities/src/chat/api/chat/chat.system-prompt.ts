import { join } from 'node:path';
import { bundledManifestFolder, instructionTrait, type ModelManifest } from '#model-registry/manifest';
import type { ApiConfig } from '#platform/config';
import { WatchedFile } from '#platform/files';
import type { Logger } from '#platform/logging';

/** The platform's default prompt, beside the bundled manifests. */
const bundledFile = 'system-prompt.txt';

/** Default system prompts: one of the platform, in a file, and one of each manifest. */
export class SystemPrompts {
  constructor(private readonly platform: Pick<WatchedFile<string>, 'current'>) {}

  /** Reads the operator's file, else the bundled one. Rejects, naming the file, if it cannot be read. */
  static async open(
    { systemPromptFile }: Pick<ApiConfig, 'systemPromptFile'>,
    logger: Pick<Logger, 'error'>,
  ): Promise<SystemPrompts> {
    const path = systemPromptFile ?? join(bundledManifestFolder(), bundledFile);
    const onProblem = (error: unknown) => logger.error({ error }, 'the changed system prompt cannot be read');
    return new SystemPrompts(await WatchedFile.open({ path, parse: (text) => text.trim(), onProblem }));
  }

  /**
   * The prompt of the platform, for models that follow instructions, then that of the manifest. Null if both are empty:
   * other models would continue it as text.
   */
  async of({ traits, systemPrompt = '' }: Pick<ModelManifest, 'traits' | 'systemPrompt'>): Promise<string | null> {
    const isInstructed = traits !== undefined && Object.hasOwn(traits, instructionTrait);
    const ofPlatform = isInstructed ? await this.platform.current() : '';
    return [ofPlatform, systemPrompt.trim()].filter((text) => text !== '').join('\n\n') || null;
  }
}
