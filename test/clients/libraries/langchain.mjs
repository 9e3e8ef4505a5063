import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import {
  animalPrompt,
  animalSchema,
  check,
  maxCallTokens,
  maxTokens,
  timeSchema,
  weatherPrompt,
  weatherSchema,
} from './schemas.mjs';

/* LangChain: `withStructuredOutput` by each of its methods, and streamed tool calls. */

const schemas = { get_weather: weatherSchema, get_time: timeSchema };

export function langchainChecks({ baseURL, apiKey, model }) {
  const chatModel = (options) =>
    new ChatOpenAI({ model, apiKey, maxTokens, maxRetries: 0, configuration: { baseURL }, ...options });
  const structured = (name, method, options) => ({
    name: `langchain withStructuredOutput (${name})`,
    run: async (index) => {
      const bound = chatModel(options).withStructuredOutput(animalSchema, { name: 'animal', ...method });
      animalSchema.parse(await bound.invoke(animalPrompt(index)));
    },
  });

  return [
    structured('default', {}, {}),
    structured('jsonSchema', { method: 'jsonSchema', strict: true }, {}),
    structured('functionCalling', { method: 'functionCalling' }, {}),
    structured('responses', {}, { useResponsesApi: true }),
    {
      name: 'langchain stream tools',
      run: async (index) => {
        const tools = Object.entries(schemas).map(([name, schema]) =>
          tool(() => '', { name, description: `Calls ${name}.`, schema }),
        );
        const bound = chatModel({ maxTokens: maxCallTokens }).bindTools(tools, { tool_choice: 'required' });
        let message;
        for await (const chunk of await bound.stream(weatherPrompt(index))) {
          message = message === undefined ? chunk : message.concat(chunk);
        }
        check((message?.tool_calls ?? []).length > 0, 'no call');
        check(message.invalid_tool_calls.length === 0, 'an invalid call');
        for (const { name, args } of message.tool_calls) schemas[name].parse(args);
      },
    },
  ];
}
