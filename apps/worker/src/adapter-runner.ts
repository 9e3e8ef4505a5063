import { PlatformError } from '#common';
import type {
  RunOptions,
  RunResult,
  TaskResult,
  TaskRunner,
  TextGenerationRequest,
  TextGenerationRunner,
} from '#inference/host';

/** Runs the requests of an adapter on the host of its base. */
export class AdapterRunner implements TextGenerationRunner, TaskRunner {
  running = 0;

  constructor(
    private readonly base: TextGenerationRunner,
    private readonly adapter: string,
  ) {}

  async run(request: TextGenerationRequest, options: RunOptions): Promise<RunResult> {
    this.running++;
    try {
      return await this.base.run({ ...request, adapter: this.adapter }, options);
    } finally {
      this.running--;
    }
  }

  runTask(): Promise<TaskResult> {
    return Promise.reject(new PlatformError('INVALID_REQUEST', 'An adapter only generates text.'));
  }
}
