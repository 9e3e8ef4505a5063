import { Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { Access, ApiRoute, RequestBody } from '#platform/http';
import { QueueTransport } from '#queue';
import { commandWorker, heardWorkers } from '#queue/workers';
import { ModelsService } from './models.service.js';
import { operationsDocuments as documents } from './operations.document.js';
import type {
  AdminModelListResponse,
  QueueResponse,
  UnplacedModelResponse,
  WorkerListResponse,
  WorkerResponse,
} from './operations.response.js';
import { ModelStateRequest, PlaceModelRequest, UnplaceModelRequest } from './place.request.js';
import { QueueService } from './queue.service.js';
import { presentWorker } from './workers.presenter.js';

const modelId = { name: 'id', type: String, example: 'stories-15m' } as const;
const workerId = { name: 'id', type: String, example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' } as const;

/** What operators see and do: queues, workers, models. */
@Controller()
export class OperationsController {
  constructor(
    private readonly queueService: QueueService,
    private readonly modelsService: ModelsService,
    private readonly transport: QueueTransport,
  ) {}

  @Get('queue')
  @Access('operator', { shared: true })
  @ApiRoute(documents.queue)
  async queue(): Promise<QueueResponse> {
    return { data: await this.queueService.queues() };
  }

  @Get('workers')
  @Access('operator', { shared: true })
  @ApiRoute(documents.workers)
  workers(): WorkerListResponse {
    return { data: heardWorkers(this.transport.membership.list()).map(presentWorker) };
  }

  @Post('workers/:id/drain')
  @Access('operator')
  @ApiRoute(documents.drain)
  @ApiParam(workerId)
  async drain(@Param('id') processId: string): Promise<WorkerResponse> {
    return presentWorker(await commandWorker(this.transport, { processId, action: 'drain' }));
  }

  @Post('workers/:id/resume')
  @Access('operator')
  @ApiRoute(documents.resume)
  @ApiParam(workerId)
  async resume(@Param('id') processId: string): Promise<WorkerResponse> {
    return presentWorker(await commandWorker(this.transport, { processId, action: 'resume' }));
  }

  @Get('models')
  @Access('operator', { shared: true })
  @ApiRoute(documents.models)
  async models(): Promise<AdminModelListResponse> {
    return { data: await this.modelsService.list() };
  }

  @Post('models/:id/place')
  @Access('operator')
  @ApiRoute(documents.place)
  @ApiParam(modelId)
  async place(@Param('id') id: string, @RequestBody(PlaceModelRequest) body: PlaceModelRequest): Promise<void> {
    const { pool, pinned = false, replicas = null } = body;
    await this.modelsService.place({ modelId: id, pool, pinned: pinned ?? false, replicas: replicas ?? null });
  }

  @Post('models/:id/unplace')
  @Access('operator')
  @ApiRoute(documents.unplace)
  @ApiParam(modelId)
  async unplace(
    @Param('id') id: string,
    @RequestBody(UnplaceModelRequest) { pool }: UnplaceModelRequest,
  ): Promise<UnplacedModelResponse> {
    return { pools: await this.modelsService.unplace(id, pool ?? null) };
  }

  @Post('models/:id/state')
  @Access('operator')
  @ApiRoute(documents.setState)
  @ApiParam(modelId)
  async setState(
    @Param('id') id: string,
    @RequestBody(ModelStateRequest) { enabled }: ModelStateRequest,
  ): Promise<void> {
    await this.modelsService.setEnabled(id, enabled);
  }

  @Delete('models/:id')
  @Access('operator')
  @ApiRoute(documents.remove)
  @ApiParam(modelId)
  async remove(@Param('id') id: string): Promise<void> {
    await this.modelsService.remove(id);
  }
}
