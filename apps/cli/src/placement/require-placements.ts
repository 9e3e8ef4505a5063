import type { PlacementService } from '#model-registry';
import type { CliContext } from '../cli-context.js';
import { PlacementRepository } from '#model-registry';

export async function requirePlacements(context: CliContext): Promise<PlacementService> {
  const [prisma, registry] = [await context.requireDatabase(), await context.requireRegistry()];
  const { PlacementService } = await import('#model-registry');
  return new PlacementService(new PlacementRepository(prisma), registry);
}
