import Instructor from '@instructor-ai/instructor';
import OpenAI from 'openai';
import { animalPrompt, maxTokens, olderAnimalSchema } from './schemas.mjs';

/* Instructor, in each mode that a server's grammar can make exact. It repairs nothing: no retries. */

export function instructorChecks({ baseURL, apiKey, model }) {
  const openai = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

  return ['TOOLS', 'FUNCTIONS', 'JSON_SCHEMA'].map((mode) => ({
    name: `instructor (${mode})`,
    run: async (index) => {
      const client = Instructor({ client: openai, mode, logger: () => undefined });
      const { _meta, ...animal } = await client.chat.completions.create({
        model,
        messages: [{ role: 'user', content: animalPrompt(index) }],
        max_tokens: maxTokens,
        max_retries: 0,
        response_model: { schema: olderAnimalSchema, name: 'Animal' },
      });
      olderAnimalSchema.strict().parse(animal);
    },
  }));
}
