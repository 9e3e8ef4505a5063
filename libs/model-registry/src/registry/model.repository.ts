import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import type { ModelManifest, ModelType } from '../manifest/index.js';

/** A model row. Its manifest was validated when it was written. */
export interface ModelRow {
  manifest: ModelManifest;
  /** Taken offline by the operator: listed, but rejected with `MODEL_OFFLINE`. */
  disabled: boolean;
}

/** A name that resolves to a model: an alias, or a trait with its rank. */
export interface ModelNameRow {
  name: string;
  type: ModelType;
  kind: 'alias' | 'trait';
  modelId: string;
  rank: number;
}

export interface RegistryContent {
  models: ModelRow[];
  names: ModelNameRow[];
}

/** Access to the registry's two tables. */
@Injectable()
export class ModelRepository {
  constructor(private readonly prisma: PrismaService) {}

  async readAll(): Promise<RegistryContent> {
    const [models, names] = await this.prisma.$transaction([
      this.prisma.model.findMany({ orderBy: { id: 'asc' } }),
      this.prisma.modelAlias.findMany({ orderBy: [{ rank: 'desc' }, { modelId: 'asc' }] }),
    ]);
    return {
      models: models.map(({ manifest, disabled }) => ({ manifest: manifest as unknown as ModelManifest, disabled })),
      names: names.map((row) => ({ ...row, type: row.type as ModelType })),
    };
  }

  /**
   * Writes a manifest with its names; returns false if the row is already equal. Replicas that start together write one
   * after the other, and only the first finds changes.
   */
  async upsert(manifest: ModelManifest): Promise<boolean> {
    const { id, type } = manifest;
    return this.prisma.$transaction(async (transaction) => {
      // SQL: Prisma's upsert cannot leave a row alone that says the same already.
      const changed = await transaction.$executeRaw`
        INSERT INTO models (id, type, manifest, created_at, updated_at)
        VALUES (${id}, ${type}, ${JSON.stringify(manifest)}::jsonb, now(), now())
        ON CONFLICT (id) DO UPDATE SET type = excluded.type, manifest = excluded.manifest, updated_at = now()
        WHERE models.manifest IS DISTINCT FROM excluded.manifest`;
      if (changed === 0) return false;
      await transaction.modelAlias.deleteMany({ where: { modelId: id } });
      await transaction.modelAlias.createMany({ data: namesOf(manifest) });
      return true;
    });
  }

  /** Returns false if the model does not exist. */
  async remove(id: string): Promise<boolean> {
    const { count } = await this.prisma.model.deleteMany({ where: { id } });
    return count > 0;
  }

  /** Returns false if the model does not exist. */
  async setDisabled(id: string, disabled: boolean): Promise<boolean> {
    const { count } = await this.prisma.model.updateMany({ where: { id }, data: { disabled } });
    return count > 0;
  }
}

function namesOf({ id, type, traits, aliases }: ModelManifest): ModelNameRow[] {
  return [
    ...Object.entries(traits ?? {}).map(([name, rank]) => ({ name, type, kind: 'trait' as const, modelId: id, rank })),
    ...[...new Set(aliases)].map((name) => ({ name, type, kind: 'alias' as const, modelId: id, rank: 0 })),
  ];
}
