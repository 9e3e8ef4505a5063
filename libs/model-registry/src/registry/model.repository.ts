import type { PrismaService } from '#platform/prisma';
import type { ModelManifest, ModelType } from '../manifest/index.js';

/** One model as the database holds it. The manifest was validated when it was written. */
export interface ModelRow {
  manifest: ModelManifest;
  /** Taken offline by the operator: listed, and refused with `MODEL_OFFLINE`. */
  disabled: boolean;
}

/** A name that means a model: a foreign name, or a trait with its rank. */
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

/** The registry's two tables. */
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
   * Writes a manifest with its names; false when the row says the same already. Replicas that start together write
   * one after the other, and all but the first find nothing to do.
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

  /** False when there is no such model. */
  async remove(id: string): Promise<boolean> {
    const { count } = await this.prisma.model.deleteMany({ where: { id } });
    return count > 0;
  }

  /** False when there is no such model. */
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
