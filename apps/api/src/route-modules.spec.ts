import 'reflect-metadata';
import { describe, expect, it } from 'vitest';
import type { RouteSettings } from '#platform/http';
import type { Type } from '@nestjs/common';
import { routeModules } from './route-modules.js';

/** Metadata key of a route's settings on its handler; see `routeSettings`. */
const settingsKey = '__fastify_route_config__';

const controllers = routeModules.flatMap((module) => Reflect.getMetadata('controllers', module) as Type<object>[]);

const handlers = controllers.flatMap((controller) => {
  const prototype = controller.prototype as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype)
    .map((name) => [`${controller.name}.${name}`, prototype[name]] as const)
    .filter(([, handler]) => typeof handler === 'function' && Reflect.hasMetadata('method', handler));
});

const settings = handlers.map(
  ([name, handler]) => [name, (Reflect.getMetadata(settingsKey, handler as object) ?? {}) as RouteSettings] as const,
);
const billed = settings.filter(([, { billed: costs }]) => costs === true);

/** Of the slices, whose requests run models. */
const free = settings.filter(
  ([name, { limitedByModel }]) =>
    /^(Audio|Chat|EditImage|Embedding|GenerateImage|Speech|Transcription|Video|Voices)Controller/.test(name) &&
    limitedByModel !== true,
);

describe('the routes', () => {
  it('of slices that are not held to the limits of a model run none', () => {
    expect(free.map(([name]) => name).toSorted()).toEqual([
      'AudioController.quote',
      'GenerateImageController.styles',
      'VideoController.quote',
    ]);
  });

  it('that are billed are exactly these', () => {
    expect(billed.map(([name]) => name).toSorted()).toMatchInlineSnapshot(`
      [
        "AudioController.queue",
        "AugmentController.parse",
        "AugmentController.scrape",
        "AugmentController.search",
        "ChatController.complete",
        "CompletionsController.complete",
        "CryptoRpcController.call",
        "EditImageController.edit",
        "EditImageController.multiEdit",
        "EditImageController.removeBackground",
        "EditImageController.upscale",
        "EmbeddingController.embed",
        "GenerateImageController.editAsOpenai",
        "GenerateImageController.generate",
        "GenerateImageController.generateSimply",
        "GenerateImageController.vary",
        "MessagesController.create",
        "RerankController.rerank",
        "RerankController.rerankNested",
        "ResponsesController.create",
        "SpeechController.speak",
        "TranscriptionController.transcribe",
        "TranscriptionController.transcribeVideo",
        "TranscriptionController.translate",
        "VideoController.queue",
        "VoicesController.create",
      ]
    `);
  });

  const runsModel = ([name]: (typeof billed)[number]): boolean => !name.startsWith('AugmentController.');

  it.each(billed.filter(runsModel))('%s applies the limits of its model and requires a key', (_name, route) => {
    expect(route.limitedByModel).toBe(true);
    expect([undefined, 'inference']).toContain(route.access);
  });

  it.each(billed.filter((route) => !runsModel(route)))(
    '%s is held to the limit of requests without a model and requires a key',
    (_name, route) => {
      expect(route.limitedByModel).toBeUndefined();
      expect([undefined, 'inference']).toContain(route.access);
    },
  );
});
