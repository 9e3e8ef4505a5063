import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, readdir, statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '#common/values';
import type { Logger } from '#platform/logging';
import type { InstallationLease } from './installation.js';
import { InstallationRun, type RunDependencies } from './installation-run.js';

export interface InstallationRunnerOptions extends Omit<RunDependencies, 'reportMs'> {
  /** `SLUICE_HOME`, whose `models` folder the workers read. */
  home: string;
  logger: Logger;
  /** Interval in which it looks for installations, in ms. */
  pollMs?: number;
  reportMs?: number;
}

/** Interval in which a process says that it installs models, in ms. */
const announceMs = 10_000;

/**
 * Installs the models that operators asked for, one after the other, with a child process for each. Several processes
 * with the same store may run; each installation has one of them.
 */
export class InstallationRunner {
  readonly id = randomUUID();
  private readonly owner = `${hostname()}:${process.pid}`;
  private readonly stopped = new AbortController();
  private readonly modelsFolder: string;
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: InstallationRunnerOptions) {
    this.modelsFolder = join(options.home, 'models');
  }

  start(): void {
    this.loop = this.work();
  }

  /** Ends the child process and leaves its installation to the next owner, which resumes it. */
  async close(): Promise<void> {
    this.stopped.abort();
    await this.loop;
  }

  private async work(): Promise<void> {
    const { logger, repository, pollMs = 2_000 } = this.options;
    if (!(await this.hasStore())) return;
    await this.announce();
    const announcing = setInterval(() => void this.announce(), announceMs);
    while (!this.stopped.signal.aborted) {
      try {
        const lease = await repository.claim(this.owner);
        if (lease === null) await this.pause(pollMs);
        else await this.install(lease);
      } catch (error) {
        logger.warn({ error }, 'models could not be installed; trying again');
        await this.pause(pollMs);
      }
    }
    clearInterval(announcing);
    await repository.withdraw(this.id).catch(() => undefined);
  }

  private async install(lease: InstallationLease): Promise<void> {
    const { logger, reportMs = 1_000 } = this.options;
    const installation = { installation: lease.id, attempt: lease.attempt };
    logger.info(installation, 'installing a model');
    const result = await new InstallationRun({ ...this.options, reportMs }, lease).run(this.stopped.signal);
    logger.info({ ...installation, result }, 'the installation of a model has ended');
    if (result === 'installed') await this.announce();
  }

  /** The import folder is created too, so that an operator finds it. */
  private async hasStore(): Promise<boolean> {
    const { importFolder, logger } = this.options;
    try {
      for (const folder of [this.modelsFolder, importFolder]) await mkdir(folder, { recursive: true });
      await access(this.modelsFolder, constants.W_OK);
      return true;
    } catch (error) {
      const reason = errorText(error);
      logger.error(
        { reason },
        'SLUICE_MODEL_INSTALLS is on, but the model store cannot be written: nothing is installed',
      );
      return false;
    }
  }

  private async announce(): Promise<void> {
    const { importFolder, repository, logger } = this.options;
    try {
      const [{ bavail, bsize }, names] = await Promise.all([statfs(this.modelsFolder), readdir(this.modelsFolder)]);
      const installed = names.filter((name) => !name.startsWith('.')).toSorted();
      const freeBytes = bavail * bsize;
      await repository.announce({ id: this.id, host: hostname(), importFolder, freeBytes, installed });
    } catch (error) {
      logger.warn({ error }, 'the model store could not be announced; trying again');
    }
  }

  private async pause(ms: number): Promise<void> {
    const { signal } = this.stopped;
    await sleep(ms, undefined, { signal }).catch(() => undefined);
  }
}
