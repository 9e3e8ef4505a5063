import 'reflect-metadata';
import { Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { Access, Billed, type RouteSettings } from './route-access.js';

const responseOfJob = ({ requestId }: { requestId: string }) => ({ id: requestId });

@Controller()
class Routes {
  @Post('both')
  @Access('admin')
  @Billed({ responseOfJob })
  both(): void {}

  @Post('reversed')
  @Billed()
  @Access('public')
  reversed(): void {}

  @Post('neither')
  neither(): void {}
}

@Module({ controllers: [Routes] })
class Root {}

describe('the settings of a route', () => {
  it('reach the hooks, whatever the order of the decorators', async () => {
    const adapter = new FastifyAdapter();
    const app = await NestFactory.create(Root, adapter, { logger: false });
    const server = adapter.getInstance<FastifyInstance>();
    const settings = new Map<string, RouteSettings>();
    server.addHook('onRoute', ({ url, config }) => void settings.set(url, config as RouteSettings));
    await app.init();
    expect(settings.get('/both')).toMatchObject({ access: 'admin', billed: true, responseOfJob });
    expect(settings.get('/reversed')).toMatchObject({ access: 'public', billed: true });
    expect(settings.get('/neither')?.billed).toBeUndefined();
    await app.close();
  });
});
