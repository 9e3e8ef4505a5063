import { applyDecorators } from '@nestjs/common';
import { ApiParam, ApiQuery } from '@nestjs/swagger';
import { ApiRoute } from '#platform/http';
import { characterSorts } from '../character.js';
import { CharacterDataResponse, CharacterListResponse, CharacterReviewsResponse } from './character.response.js';
import { limits } from './characters.query.js';

const tags = ['Characters'];

const listOf = (maxLength: number) => ({
  type: 'array',
  items: { type: 'string', maxLength },
  maxItems: limits.items,
});
const flag = { type: 'string', enum: ['true', 'false'] };
const whole = { type: 'integer', minimum: 0 };
const positive = { ...whole, exclusiveMinimum: true };

const filters = {
  search: { schema: { type: 'string', maxLength: limits.search }, description: 'In names, slugs, texts and tags.' },
  tags: { schema: listOf(limits.tag), description: 'Characters with any of these tags; repeated, or with commas.' },
  categories: { schema: listOf(limits.tag), description: 'The same as `tags`: every tag is a category.' },
  modelId: { schema: listOf(limits.modelId), description: 'Characters with any of these models.' },
  isAdult: { schema: flag, description: 'Only characters for adults, or only others.' },
  isPro: { schema: flag, description: 'No character needs a paid plan: `true` finds none.' },
  isWebEnabled: { schema: flag, description: 'Only characters meant for web search, or only others.' },
  sortBy: { schema: { type: 'string', enum: [...characterSorts] }, description: 'Default: featured ones first.' },
  sortOrder: { schema: { type: 'string', enum: ['asc', 'desc'] }, description: 'Default: `desc`.' },
  limit: { schema: { ...positive, maximum: limits.page, default: 50 }, description: 'Length of the page.' },
  offset: { schema: { ...whole, nullable: true, default: 0 }, description: 'Characters before the page.' },
};

const slugParameter = ApiParam({ name: 'slug', type: String, example: 'plain-language-editor' });

export function CharacterListDocument(): MethodDecorator {
  const queries = Object.entries(filters).map(([name, filter]) => ApiQuery({ name, required: false, ...filter }));
  return applyDecorators(
    ApiRoute({
      tags,
      security: 'inherited',
      operationId: 'listCharacters',
      summary: 'List characters',
      description: 'Personas that a chat takes on by their slug, filtered and sorted, a page at a time.',
      responses: { 200: { json: CharacterListResponse } },
      errors: [400, 401, 429, 500],
    }),
    ...queries,
  );
}

export function CharacterDocument(): MethodDecorator {
  return applyDecorators(
    ApiRoute({
      tags,
      security: 'inherited',
      operationId: 'getCharacterBySlug',
      summary: 'Get one character',
      description: 'One character by its slug, with its statistics and the rating that this account gave it.',
      responses: { 200: { json: CharacterDataResponse } },
      errors: [401, 404, 429, 500],
    }),
    slugParameter,
  );
}

const pageHeaders = {
  'x-pagination-limit': { description: 'Length of a page.', schema: { type: 'number' } },
  'x-pagination-page': { description: 'Number of the page, from 1.', schema: { type: 'number' } },
  'x-pagination-total': { description: 'Number of reviews.', schema: { type: 'number' } },
  'x-pagination-total-pages': { description: 'Number of pages.', schema: { type: 'number' } },
} as const;

export function CharacterReviewsDocument(): MethodDecorator {
  return applyDecorators(
    ApiRoute({
      tags,
      security: 'inherited',
      operationId: 'getCharacterReviews',
      summary: 'List the reviews of a character',
      description: 'Reviews of one character, the newest first, a page at a time, with their mean rating.',
      responses: { 200: { json: CharacterReviewsResponse, headers: pageHeaders } },
      errors: [400, 401, 404, 429, 500],
    }),
    slugParameter,
    ApiQuery({
      name: 'page',
      required: false,
      schema: { ...positive, default: 1 },
      description: 'Number of the page, from 1.',
    }),
    ApiQuery({
      name: 'pageSize',
      required: false,
      schema: { ...positive, maximum: limits.page, default: 20 },
      description: 'Length of a page.',
    }),
  );
}
