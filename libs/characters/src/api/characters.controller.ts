import { Controller, Get, Param, Query } from '@nestjs/common';
import { Access, Exchange, type HttpExchange } from '#platform/http';
import { CharactersService } from '../characters.service.js';
import { presentCharacter, presentReviews } from './character.presenter.js';
import type { CharacterDataResponse, CharacterListResponse, CharacterReviewsResponse } from './character.response.js';
import { CharacterDocument, CharacterListDocument, CharacterReviewsDocument } from './characters.document.js';
import { readCharactersQuery, readReviewsQuery } from './characters.query.js';

@Controller('characters')
export class CharactersController {
  constructor(private readonly characters: CharactersService) {}

  @Get()
  @Access('inference')
  @CharacterListDocument()
  async list(@Exchange() { caller }: HttpExchange, @Query() query: unknown): Promise<CharacterListResponse> {
    const { filter, page } = readCharactersQuery(query);
    const found = filter === null ? [] : await this.characters.list(filter, page, caller.accountId);
    return { object: 'list', data: found.map(presentCharacter) };
  }

  @Get(':slug')
  @Access('inference')
  @CharacterDocument()
  async find(@Exchange() { caller }: HttpExchange, @Param('slug') slug: string): Promise<CharacterDataResponse> {
    const found = await this.characters.findRated(slug, caller.accountId);
    return { object: 'character', data: presentCharacter(found) };
  }

  @Get(':slug/reviews')
  @Access('inference')
  @CharacterReviewsDocument()
  async reviews(
    @Exchange() http: HttpExchange,
    @Param('slug') slug: string,
    @Query() query: unknown,
  ): Promise<CharacterReviewsResponse> {
    const page = readReviewsQuery(query);
    const response = presentReviews(await this.characters.reviews(slug, page), page, http.caller.accountId);
    const { pagination } = response;
    http.setHeaders({
      'x-pagination-limit': pagination.pageSize,
      'x-pagination-page': pagination.page,
      'x-pagination-total': pagination.total,
      'x-pagination-total-pages': pagination.totalPages,
    });
    return response;
  }
}
