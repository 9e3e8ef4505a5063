import { Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { type Character, CharacterDocuments, CharactersService, readCharacter } from '#characters';
import { Access, ApiRoute, Exchange, type HttpExchange, RequestBody } from '#platform/http';
import { CharacterRequest, CharacterReviewRequest } from './character.request.js';
import type { AdminCharacterResponse, RemovedDocumentsResponse } from './character.response.js';
import { charactersDocuments as documents } from './characters.document.js';

const slugParameter = { name: 'slug', type: String, example: 'night-porter' } as const;

/** Operators write and read characters here: the public routes show neither prompts nor documents. */
@Controller('characters/:slug')
export class AdminCharactersController {
  constructor(
    private readonly characters: CharactersService,
    private readonly files: CharacterDocuments,
  ) {}

  @Get()
  @Access('operator')
  @ApiRoute(documents.show)
  @ApiParam(slugParameter)
  async show(@Param('slug') slug: string): Promise<AdminCharacterResponse> {
    return this.present(await this.characters.find(slug));
  }

  @Post()
  @Access('operator')
  @ApiRoute(documents.save)
  @ApiParam(slugParameter)
  async save(
    @Param('slug') slug: string,
    @RequestBody(CharacterRequest) body: CharacterRequest,
  ): Promise<AdminCharacterResponse> {
    return this.present(await this.characters.save(readCharacter({ ...body, slug }, 'The character')));
  }

  @Delete()
  @Access('operator')
  @ApiRoute(documents.remove)
  @ApiParam(slugParameter)
  async remove(@Param('slug') slug: string): Promise<void> {
    await this.characters.find(slug);
    await this.characters.remove(slug);
  }

  @Post('reviews')
  @Access('operator')
  @ApiRoute(documents.review)
  @ApiParam(slugParameter)
  async review(
    @Param('slug') slug: string,
    @RequestBody(CharacterReviewRequest) body: CharacterReviewRequest,
    @Exchange() { caller }: HttpExchange,
  ): Promise<void> {
    const { rating, message, username } = body;
    const review = { rating, message: message?.trim() ?? null, username: username?.trim() ?? 'Operator', locale: null };
    await this.characters.review(slug, { ...review, accountId: caller.accountId });
  }

  @Delete('documents')
  @Access('operator')
  @ApiRoute(documents.removeDocuments)
  @ApiParam(slugParameter)
  async removeDocuments(@Param('slug') slug: string): Promise<RemovedDocumentsResponse> {
    const { id } = await this.characters.find(slug);
    return { removed: await this.files.clear(id) };
  }

  private async present(character: Character): Promise<AdminCharacterResponse> {
    const { slug, name, description, systemPrompt, greeting, modelId, tags, author } = character;
    const { adult, featured, webEnabled, photoUrl, shareUrl, documentsModel } = character;
    const files = await this.files.list(character.id);
    return {
      ...{ slug, name, description, systemPrompt, greeting, model: modelId, tags, author },
      ...{ adult, featured, webAccess: webEnabled, photoUrl, shareUrl },
      documents: {
        model: documentsModel,
        data: files.map(({ name: fileName, passages }) => ({ name: fileName, passages })),
      },
    };
  }
}
