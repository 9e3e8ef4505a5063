import { Controller, Delete, Get, Param, Post } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { type Character, CharacterDocuments, CharactersService, documentLimits, readCharacter } from '#characters';
import { Access, ApiRoute, Exchange, type HttpExchange, Multipart, RequestBody } from '#platform/http';
import { CharacterFilesService } from './character-files.service.js';
import { CharacterDocumentRequest, CharacterRequest, CharacterReviewRequest } from './character.request.js';
import type { AdminCharacterResponse, CharacterFilesResponse, RemovedDocumentsResponse } from './character.response.js';
import { charactersDocuments as routes } from './characters.document.js';

const slugParameter = { name: 'slug', type: String, example: 'night-porter' } as const;
const documentParameter = { name: 'id', type: String, example: '5c8f0c6a-3f0b-4c53-9d5e-2d3c5a6f7e10' } as const;

/** Operators write and read characters here: the public routes show neither prompts nor documents. */
@Controller('characters/:slug')
export class AdminCharactersController {
  constructor(
    private readonly characters: CharactersService,
    private readonly documents: CharacterDocuments,
    private readonly files: CharacterFilesService,
  ) {}

  @Get()
  @Access('operator')
  @ApiRoute(routes.show)
  @ApiParam(slugParameter)
  async show(@Param('slug') slug: string): Promise<AdminCharacterResponse> {
    return this.present(await this.characters.find(slug));
  }

  @Post()
  @Access('operator')
  @ApiRoute(routes.save)
  @ApiParam(slugParameter)
  async save(
    @Param('slug') slug: string,
    @RequestBody(CharacterRequest) body: CharacterRequest,
  ): Promise<AdminCharacterResponse> {
    return this.present(await this.characters.save(readCharacter({ ...body, slug }, 'The character')));
  }

  @Delete()
  @Access('operator')
  @ApiRoute(routes.remove)
  @ApiParam(slugParameter)
  async remove(@Param('slug') slug: string): Promise<void> {
    await this.characters.find(slug);
    await this.characters.remove(slug);
  }

  @Post('reviews')
  @Access('operator')
  @ApiRoute(routes.review)
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

  @Post('documents')
  @Access('operator')
  @Multipart({ maxFileBytes: documentLimits.fileBytes, maxFiles: 1, only: true })
  @ApiRoute(routes.addDocument)
  @ApiParam(slugParameter)
  async addDocument(
    @Param('slug') slug: string,
    @RequestBody(CharacterDocumentRequest) body: CharacterDocumentRequest,
    @Exchange() http: HttpExchange,
  ): Promise<CharacterFilesResponse> {
    await this.files.add(http, await this.characters.find(slug), body);
    return this.presentFiles(await this.characters.find(slug));
  }

  @Delete('documents/:id')
  @Access('operator')
  @ApiRoute(routes.removeDocument)
  @ApiParam(slugParameter)
  @ApiParam(documentParameter)
  async removeDocument(@Param('slug') slug: string, @Param('id') id: string): Promise<void> {
    await this.documents.remove(await this.characters.find(slug), id);
  }

  @Delete('documents')
  @Access('operator')
  @ApiRoute(routes.removeDocuments)
  @ApiParam(slugParameter)
  async removeDocuments(@Param('slug') slug: string): Promise<RemovedDocumentsResponse> {
    return { removed: await this.documents.clear(await this.characters.find(slug)) };
  }

  private async present(character: Character): Promise<AdminCharacterResponse> {
    const { slug, name, description, systemPrompt, greeting, modelId, tags, author } = character;
    const { adult, featured, webEnabled, photoUrl, shareUrl } = character;
    return {
      ...{ slug, name, description, systemPrompt, greeting, model: modelId, tags, author },
      ...{ adult, featured, webAccess: webEnabled, photoUrl, shareUrl },
      documents: await this.presentFiles(character),
    };
  }

  private async presentFiles({ id: characterId, documentsModel }: Character): Promise<CharacterFilesResponse> {
    const files = await this.documents.list(characterId);
    return { model: documentsModel, data: files.map(({ id, name, passages }) => ({ id, name, passages })) };
  }
}
