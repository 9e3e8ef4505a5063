import { Controller, Get, Param, Post, Query } from '@nestjs/common';
import { isUuid } from '#common';
import { type Installation, type InstallationPosition, installationStates } from '#model-registry/installations';
import { Access, Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { isMoment, pageOf, readChoice, readCursor, readLimit, writeCursor } from '../admin-query.js';
import { InstallModelRequest } from './install-model.request.js';
import {
  CancelRoute,
  CatalogRoute,
  InstallationListRoute,
  InstallationRoute,
  InstallRoute,
  RetryRoute,
} from './installations.document.js';
import type {
  InstallableModelsResponse,
  InstallationListResponse,
  InstallationResponse,
} from './installations.response.js';
import { InstallationsService } from './installations.service.js';

/** Models that operators ask for, and how far they are. */
@Controller()
export class InstallationsController {
  constructor(private readonly installations: InstallationsService) {}

  @Get('model_catalog')
  @Access('operator', { shared: true })
  @CatalogRoute()
  catalog(): Promise<InstallableModelsResponse> {
    return this.installations.catalog();
  }

  @Post('model_installations')
  @Access('operator')
  @InstallRoute()
  async create(
    @Exchange() { caller }: HttpExchange,
    @RequestBody(InstallModelRequest) body: InstallModelRequest,
  ): Promise<InstallationResponse> {
    return present(await this.installations.create(body, caller.apiKeyId));
  }

  @Get('model_installations')
  @Access('operator', { shared: true })
  @InstallationListRoute()
  async list(@Query() query: unknown): Promise<InstallationListResponse> {
    const limit = readLimit(query);
    const state = readChoice(query, 'state', installationStates);
    const found = await this.installations.page({ state }, readCursor(query, positionIn), limit + 1);
    const { rows, nextCursor } = pageOf(found, limit, cursorOf);
    return { data: rows.map(present), nextCursor };
  }

  @Get('model_installations/:id')
  @Access('operator')
  @InstallationRoute()
  async show(@Param('id') id: string): Promise<InstallationResponse> {
    return present(await this.installations.find(id));
  }

  @Post('model_installations/:id/cancel')
  @Access('operator')
  @CancelRoute()
  async cancel(@Param('id') id: string): Promise<InstallationResponse> {
    return present(await this.installations.cancel(id));
  }

  @Post('model_installations/:id/retry')
  @Access('operator')
  @RetryRoute()
  async retry(@Param('id') id: string): Promise<InstallationResponse> {
    return present(await this.installations.retry(id));
  }
}

function present({ modelId, createdAt, updatedAt, finishedAt, ...row }: Installation): InstallationResponse {
  return {
    ...row,
    model: modelId,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}

function cursorOf({ createdAt, id }: Installation): string {
  return writeCursor([createdAt.getTime(), id]);
}

function positionIn([createdMs, id]: unknown[]): InstallationPosition | null {
  return isMoment(createdMs) && typeof id === 'string' && isUuid(id) ? { createdMs, id } : null;
}
