import { type DynamicModule, Module, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import type { DatabaseConfig } from '#platform/config';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { MigrationCheck } from '#platform/migrations';
import { PrismaService } from '#platform/prisma';
import { openTracing, Tracing } from '#platform/tracing';

export interface PlatformModuleOptions {
  /** Name of the process: in logs, metrics, traces and `pg_stat_activity`. */
  app: 'api' | 'ops';
  /** Injected under its class and every class it extends. */
  config: DatabaseConfig;
  logger: Logger;
  database: { poolSize?: number; queryTimeoutMs: number };
}

/** Configuration, logger, metrics, database and tracing of a process, provided everywhere. */
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(private readonly tracing: Tracing) {}

  static forRoot({ app, config, logger, database }: PlatformModuleOptions): DynamicModule {
    const providers: Provider[] = [
      ...classesOf(config).map((provide) => ({ provide, useValue: config })),
      { provide: Logger, useValue: logger },
      { provide: Metrics, useFactory: () => new Metrics(app, { installation: config.installation }) },
      { provide: MigrationCheck, useFactory: () => new MigrationCheck({ url: config.databaseUrl }) },
      {
        provide: PrismaService,
        useFactory: () => new PrismaService({ url: config.databaseUrl, applicationName: `sluice-${app}`, ...database }),
      },
      { provide: Tracing, useFactory: () => openTracing(`sluice-${app}`, config) },
    ];
    return {
      module: PlatformModule,
      global: true,
      providers,
      exports: providers.map((provider) => ('provide' in provider ? provider.provide : provider)),
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.tracing.close();
  }
}

/** The class of an object and those it extends, so that a library asks for the part of the configuration that it reads. */
function classesOf(config: object): (abstract new () => object)[] {
  const classes: (abstract new () => object)[] = [];
  for (
    let prototype = Object.getPrototypeOf(config) as object;
    prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype) as object
  ) {
    classes.push(prototype.constructor as abstract new () => object);
  }
  return classes;
}
