import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access, callerOf } from '#platform/http';
import { CharactersService } from '../characters.service.js';
import { presentCharacter, presentReviews } from './character.presenter.js';
import type { CharacterDataResponse, CharacterListResponse, CharacterReviewsResponse } from './character.response.js';
import { CharacterDocument, CharacterListDocument, CharacterReviewsDocument } from './characters.document.js';
import { readCharactersQuery, readReviewsQuery } from './characters.query.js';

@ApiTags('Characters')
@Controller('characters')
export class CharactersController {
  constructor(@Inject(CharactersService) private readonly characters: CharactersService) {}

  @Get()
  @Access('inference')
  @CharacterListDocument()
  async list(@Req() request: FastifyRequest, @Query() query: unknown): Promise<CharacterListResponse> {
    const { filter, page } = readCharactersQuery(query);
    const { accountId } = callerOf(request);
    const found = filter === null ? [] : await this.characters.list(filter, page, accountId);
    return { object: 'list', data: found.map(presentCharacter) };
  }

  @Get(':slug')
  @Access('inference')
  @CharacterDocument()
  async find(@Req() request: FastifyRequest, @Param('slug') slug: string): Promise<CharacterDataResponse> {
    const found = await this.characters.findRated(slug, callerOf(request).accountId);
    return { object: 'character', data: presentCharacter(found) };
  }

  @Get(':slug/reviews')
  @Access('inference')
  @CharacterReviewsDocument()
  async reviews(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('slug') slug: string,
    @Query() query: unknown,
  ): Promise<CharacterReviewsResponse> {
    const page = readReviewsQuery(query);
    const response = presentReviews(await this.characters.reviews(slug, page), page, callerOf(request).accountId);
    const { pagination } = response;
    void reply.headers({
      'x-pagination-limit': pagination.pageSize,
      'x-pagination-page': pagination.page,
      'x-pagination-total': pagination.total,
      'x-pagination-total-pages': pagination.totalPages,
    });
    return response;
  }
}
