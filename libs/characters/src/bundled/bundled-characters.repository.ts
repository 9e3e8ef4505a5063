import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** Which bundled characters were installed, with the hash of what was installed. */
@Injectable()
export class BundledCharactersRepository {
  constructor(private readonly prisma: PrismaService) {}

  async hashes(): Promise<Map<string, string>> {
    const rows = await this.prisma.bundledCharacter.findMany();
    return new Map(rows.map(({ slug, contentSha256 }) => [slug, contentSha256]));
  }

  async record(slug: string, contentSha256: string): Promise<void> {
    await this.prisma.bundledCharacter.upsert({
      where: { slug },
      create: { slug, contentSha256 },
      update: { contentSha256 },
    });
  }
}
