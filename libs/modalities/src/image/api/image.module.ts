import { Module } from '@nestjs/common';
import { GatewayModule } from '#gateway';
import { EditImageController } from './image.controller.js';
import { GenerateImageController } from './generate.controller.js';
import { ImageEditor } from './image-editor.js';
import { ImageGenerator } from './image-generator.js';
import { InputImageDescriber } from './input-image-describer.js';
import { ImageService } from './image.service.js';

/** The routes that generate and edit images. The process provides a `TextRewriter`. */
@Module({
  imports: [GatewayModule],
  controllers: [EditImageController, GenerateImageController],
  providers: [ImageEditor, ImageGenerator, ImageService, InputImageDescriber],
  exports: [InputImageDescriber],
})
export class ImageModule {}
