import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
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

/* The official library: structured output by `parse` and `stream`, and parallel tool calls, streamed and whole. */

const schemas = { get_weather: weatherSchema, get_time: timeSchema };
const functions = Object.entries(schemas).map(([name, schema]) => {
  const { $schema: _version, ...parameters } = z.toJSONSchema(schema);
  return { name, description: `Calls ${name}.`, parameters, strict: true };
});

export function openaiChecks({ baseURL, apiKey, model }) {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const chat = (content) => ({
    model,
    messages: [{ role: 'user', content }],
    max_completion_tokens: maxTokens,
  });

  return [
    {
      name: 'openai chat.completions.parse zodResponseFormat',
      run: async (index) => {
        const format = zodResponseFormat(animalSchema, 'animal');
        const completion = await client.chat.completions.parse({
          ...chat(animalPrompt(index)),
          response_format: format,
        });
        animalSchema.parse(completion.choices[0].message.parsed);
      },
    },
    {
      name: 'openai chat.completions.stream zodResponseFormat',
      run: async (index) => {
        const format = zodResponseFormat(animalSchema, 'animal');
        const stream = client.chat.completions.stream({ ...chat(animalPrompt(index)), response_format: format });
        animalSchema.parse((await stream.finalChatCompletion()).choices[0].message.parsed);
      },
    },
    {
      name: 'openai responses.parse zodTextFormat',
      run: async (index) => {
        const response = await client.responses.parse({
          model,
          input: animalPrompt(index),
          max_output_tokens: maxTokens,
          text: { format: zodTextFormat(animalSchema, 'animal') },
        });
        animalSchema.parse(response.output_parsed);
      },
    },
    {
      name: 'openai chat parallel tool calls, streamed = whole',
      run: async (index) => {
        const body = {
          ...chat(weatherPrompt(index)),
          max_completion_tokens: maxCallTokens,
          temperature: 0,
          // Without one, a reused prefix may resolve a near tie differently.
          seed: index + 1,
          tools: functions.map((each) => ({ type: 'function', function: each })),
          tool_choice: 'required',
          parallel_tool_calls: true,
        };
        const calls = [];
        let finish = null;
        for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
          finish = choices[0]?.finish_reason ?? finish;
          for (const { index: at, id, type, function: called } of choices[0]?.delta.tool_calls ?? []) {
            if (id === undefined) calls[at].arguments += called.arguments;
            else {
              check(calls[at] === undefined && type === 'function', 'a call began twice');
              calls[at] = { name: called.name, arguments: called.arguments };
            }
          }
        }
        check(finish === 'tool_calls', `finish_reason ${finish}`);
        const { message } = (await client.chat.completions.create(body)).choices[0];
        const whole = message.tool_calls.map(({ function: { name, arguments: text } }) => ({ name, arguments: text }));
        check(JSON.stringify(whole) === JSON.stringify(calls), 'streamed and whole calls differ');
        for (const call of calls) schemas[call.name].parse(JSON.parse(call.arguments));
      },
    },
    {
      name: 'openai responses parallel tool calls, streamed and whole',
      run: async (index) => {
        const body = {
          model,
          input: weatherPrompt(index),
          max_output_tokens: maxCallTokens,
          temperature: 0,
          tools: functions.map((each) => ({ type: 'function', ...each })),
          tool_choice: 'required',
          parallel_tool_calls: true,
        };
        const fragments = new Map();
        const stream = client.responses.stream(body);
        stream.on('response.function_call_arguments.delta', ({ item_id: id, delta }) => {
          fragments.set(id, (fragments.get(id) ?? '') + delta);
        });
        const { output } = await stream.finalResponse();
        // Responses take no seed, so two of them may differ.
        const whole = (await client.responses.create(body)).output;
        check(output.length > 0 && whole.length > 0, 'there are no calls');
        for (const call of output)
          check(fragments.get(call.id) === call.arguments, 'the fragments differ from the call');
        for (const call of [...output, ...whole]) {
          check(call.status === 'completed', `a call is ${call.status}`);
          schemas[call.name].parse(JSON.parse(call.arguments));
        }
      },
    },
  ];
}
