import 'reflect-metadata';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { freePort } from '#test/free-port';

const answer = {
  id: 'chatcmpl-0123456789abcdef-BEN',
  object: 'chat.completion',
  created: 1_795_000_000,
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: 'amber birch cedar' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 },
};

/** Measures a minimal NestJS route on Fastify that reads and returns JSON. */
@Controller()
class BareController {
  @Post('chat')
  @HttpCode(200)
  chat(@Body() body: object): object {
    return { ...answer, choices: body === null ? [] : answer.choices };
  }
}

@Module({ controllers: [BareController] })
class BareModule {}

export interface BareRoute {
  url: string;
  pid: number;
  close(): Promise<void>;
}

/** Runs the route in a process of its own. */
export async function startBareRoute(): Promise<BareRoute> {
  const port = await freePort();
  const child = fork(fileURLToPath(import.meta.url), [String(port)]);
  await once(child, 'message');
  return {
    url: `http://127.0.0.1:${port}/chat`,
    pid: child.pid ?? 0,
    close: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const app = await NestFactory.create(BareModule, new FastifyAdapter(), { logger: false });
  await app.listen(Number(process.argv[2]), '127.0.0.1');
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}
