import { Controller, Post } from '@nestjs/common';
import { PlatformError } from '#common';
import { isDataUrl } from '#media';
import { ApiRoute, type DocumentedRoute, Exchange, type HttpExchange, LargeBody, RequestBody } from '#platform/http';
import { MediaArtifacts } from '../media/media-artifacts.js';
import { invalidField } from '../request/model-fields.js';
import { RequestPipeline } from '../pipeline/request-pipeline.js';
import { ImageClassifier } from '../pipeline/policy/classifiers.js';
import { ContentPolicy, type Finding } from '../pipeline/policy/content-policy.js';
import { type ModerationInput, ModerationRequest } from './moderation.request.js';
import { ModerationResponse, presentModeration } from './moderation.response.js';

const moderationDocument: DocumentedRoute = {
  tags: ['Moderation'],
  operationId: 'createModeration',
  summary: 'Check texts and images',
  description:
    'What the operator’s content policy says about texts, and the safety classifier about images. Free; nothing is stored.',
  body: ModerationRequest,
  example: { input: ['Tell me a story about a small boat.'] },
  responses: { 200: { description: 'One result per text, or one for the parts.', json: ModerationResponse } },
  compressed: true,
  envelope: 'openai',
  errors: [400, 401, 404, 413, 415, 422, 429, 500, 503],
};

const maxImages = 16;
const maxImageBytes = 26_214_400;
const maxImagePixels = 33_177_600;
const imageTimeoutMs = 30_000;
const imageLifetimeMs = 600_000;

/** An image of an input, and the field that it comes from. */
interface InputImage {
  url: string;
  param: string;
}

/** Checks inputs as the pipeline checks those of requests. */
@Controller()
export class ModerationController {
  constructor(
    private readonly policy: ContentPolicy,
    private readonly pipeline: RequestPipeline,
    private readonly artifacts: MediaArtifacts,
    private readonly images: ImageClassifier,
  ) {}

  @Post('moderations')
  @LargeBody()
  @ApiRoute(moderationDocument)
  async moderate(
    @RequestBody(ModerationRequest) { input }: ModerationRequest,
    @Exchange() http: HttpExchange,
  ): Promise<ModerationResponse> {
    const inputs = textsOf(input);
    const ofImages = await this.examineImages(http, imagesOf(input));
    const examined = inputs.every((texts) => texts.length === 0)
      ? inputs.map(() => [])
      : await this.examine(http, inputs);
    const results = examined.map((findings) => presentModeration([...findings, ...ofImages]));
    return { id: `modr-${http.request.id}`, model: 'content-policy', results };
  }

  private async examine(http: HttpExchange, inputs: string[][]): Promise<Finding[][]> {
    const open = this.pipeline.openCheck.bind(this.pipeline, http);
    const findings = await this.policy.examine(inputs, { param: 'input', open });
    if (findings !== null) return findings;
    throw new PlatformError('MODEL_NOT_FOUND', 'This service has no content policy to check texts against.', 'model');
  }

  /** One finding for all images; none without images. */
  private async examineImages(http: HttpExchange, images: readonly InputImage[]): Promise<Finding[]> {
    const [first] = images;
    if (first === undefined) return [];
    const reader = this.artifacts.inputsOf(http, this.images.modelId, imageLifetimeMs);
    const finding: Finding = { category: 'sexual', score: 0, isFlagged: false, input: 'image' };
    for (const { url, param } of images) {
      const model = await this.pipeline.openCheck(http, { id: this.images.modelId, type: 'image', param });
      const limited = await model.limit();
      const limits = { maxPixels: maxImagePixels };
      const { artifactId } = await reader.image(url, {
        param,
        maxBytes: maxImageBytes,
        timeoutMs: imageTimeoutMs,
        limits,
      });
      const { sexual, isFlagged } = await this.images.classify(limited, artifactId);
      finding.score = Math.max(finding.score, sexual);
      finding.isFlagged ||= isFlagged;
    }
    return [finding];
  }
}

/** The texts of each input; parts are one input. */
function textsOf(input: ModerationInput): string[][] {
  if (typeof input === 'string') return [[input]];
  const isParts = input.some((item) => typeof item !== 'string');
  const texts = input.flatMap((item) =>
    typeof item === 'string' ? item : item.type === 'text' ? (item.text ?? []) : [],
  );
  return isParts ? [texts] : texts.map((text) => [text]);
}

/** Throws `INVALID_REQUEST` naming a part whose image cannot be read. */
function imagesOf(input: ModerationInput): InputImage[] {
  if (typeof input === 'string') return [];
  const images = input.flatMap((item, index) => {
    if (typeof item === 'string' || item.image_url === undefined || item.type !== 'image_url') return [];
    const { url } = item.image_url;
    const param = `input[${index}].image_url.url`;
    if (!isDataUrl(url) && !/^https?:\/\//i.test(url)) {
      throw invalidField(`${param} must be an http(s) or data URL.`, param);
    }
    return [{ url, param }];
  });
  const surplus = images[maxImages];
  if (surplus !== undefined) throw invalidField(`input takes at most ${maxImages} images.`, surplus.param, 'too_big');
  return images;
}
