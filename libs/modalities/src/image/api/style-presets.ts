/** A look by name: what is added to a prompt, and what the picture shall not be. */
export interface StylePreset {
  name: string;
  /** Follows the caller's prompt. */
  prompt: string;
  /** Joins the caller's negative prompt. */
  negative: string;
}

const preset = (name: string, prompt: string, negative = ''): StylePreset => ({ name, prompt, negative });

/** Our own words, in the order in which they are listed. */
export const stylePresets: readonly StylePreset[] = [
  preset('Photograph', 'photograph, natural light, 35 mm lens, fine detail', 'drawing, painting, render'),
  preset(
    'Portrait Photo',
    'portrait photograph, soft window light, shallow focus, 85 mm lens',
    'drawing, distorted face',
  ),
  preset('Film Photo', 'photograph on colour film, visible grain, slightly faded colours', 'digital, oversharpened'),
  preset('Black and White', 'black and white photograph, strong contrast, deep shadows', 'colour'),
  preset('Long Exposure', 'long exposure photograph, motion trails, still water', 'frozen motion'),
  preset('Macro', 'extreme close-up, macro lens, tiny details, blurred background', 'wide shot'),
  preset('Aerial', 'seen from high above, drone photograph, wide landscape', 'close-up'),
  preset(
    'Studio Product',
    'product on a plain background, studio lights, soft shadow, catalogue picture',
    'clutter, text',
  ),
  preset('Cinematic', 'still of a feature film, wide screen, dramatic light, colour graded', 'amateur snapshot'),
  preset('Noir', 'film noir, hard shadows, wet streets at night, venetian blinds', 'bright colours, daylight'),
  preset('Watercolor', 'watercolour painting, wet paper, flowing pigment, white margins', 'photograph, hard edges'),
  preset('Oil Painting', 'oil painting on canvas, thick brush strokes, rich colours', 'photograph, flat colour'),
  preset('Gouache', 'gouache painting, matte opaque colours, simple shapes', 'photograph, gloss'),
  preset('Acrylic', 'acrylic painting, bright layered paint, visible brushwork', 'photograph'),
  preset('Impressionist', 'impressionist painting, broken brush strokes, changing light', 'photograph, hard outlines'),
  preset('Expressionist', 'expressionist painting, distorted shapes, intense colours', 'photograph, realism'),
  preset('Cubist', 'cubist painting, broken planes, several views at once', 'photograph, perspective'),
  preset('Surreal', 'surreal scene, dream logic, impossible objects, careful detail', 'ordinary scene'),
  preset('Pop Art', 'pop art, flat bright colours, bold outlines, printed dots', 'muted colours, photograph'),
  preset(
    'Art Nouveau',
    'art nouveau poster, flowing lines, plant ornaments, framed figure',
    'photograph, straight lines',
  ),
  preset('Art Deco', 'art deco, geometric ornament, gold and black, symmetry', 'photograph, disorder'),
  preset('Woodcut', 'woodcut print, carved black lines, rough paper', 'colour gradient, photograph'),
  preset('Linocut', 'linocut print, two colours, bold carved shapes', 'fine gradient, photograph'),
  preset('Etching', 'etching, fine crosshatched lines, aged paper', 'colour, photograph'),
  preset('Pencil Sketch', 'pencil sketch, graphite shading, construction lines', 'colour, photograph'),
  preset('Charcoal', 'charcoal drawing, smudged shadows, rough strokes', 'colour, photograph'),
  preset('Ink Wash', 'ink wash painting, few strokes, empty space, rice paper', 'bright colours, clutter'),
  preset('Ink Drawing', 'pen and ink drawing, clean black lines, white background', 'colour, shading, photograph'),
  preset('Pastel', 'soft pastel drawing, powdery colours, textured paper', 'photograph, hard edges'),
  preset('Coloured Pencil', 'coloured pencil drawing, layered strokes, paper texture', 'photograph, flat fill'),
  preset('Comic Book', 'comic book panel, inked outlines, halftone shading', 'photograph, text, speech bubble'),
  preset('Manga', 'manga page drawing, screentone, expressive lines', 'photograph, colour'),
  preset('Anime', 'animated film still, painted background, clean cel shading', 'photograph, rough sketch'),
  preset(
    'Children’s Book',
    'illustration of a picture book, gentle colours, friendly shapes',
    'frightening, photograph',
  ),
  preset('Line Art', 'line art, even thin outlines, no shading', 'shading, colour, photograph'),
  preset('Vector Flat', 'flat vector illustration, simple shapes, few colours', 'texture, gradient, photograph'),
  preset('Isometric', 'isometric view, small detailed scene, clean edges', 'perspective, photograph'),
  preset('Low Poly', 'low polygon model, flat facets, simple light', 'smooth surface, photograph'),
  preset('Clay Model', 'clay model, finger marks, stop motion set, soft light', 'drawing, flat'),
  preset('Paper Cut', 'layered cut paper, small shadows between sheets', 'photograph of people, gloss'),
  preset('Origami', 'folded paper, crisp creases, plain background', 'drawing, texture'),
  preset('Embroidery', 'embroidered on cloth, visible stitches, coloured thread', 'photograph, smooth'),
  preset('Stained Glass', 'stained glass window, lead lines, glowing colours', 'photograph, opaque'),
  preset('Mosaic', 'mosaic of small tiles, uneven grout lines', 'smooth, photograph'),
  preset('Pixel Art', 'pixel art, limited palette, crisp square pixels', 'smooth, blurry, photograph'),
  preset('3D Render', 'rendered in 3D, physically based materials, soft studio light', 'drawing, flat'),
  preset('Miniature', 'tilt shift photograph of a miniature world, tiny people', 'close-up portrait'),
  preset('Fantasy', 'fantasy illustration, ancient ruins, magic light, rich detail', 'modern city, photograph'),
  preset('Science Fiction', 'science fiction concept art, vast machines, distant planets', 'medieval, rustic'),
  preset('Neon Night', 'city at night, neon lights, rain reflections, haze', 'daylight, countryside'),
];

const byName = new Map(stylePresets.map((style) => [style.name.toLowerCase(), style]));

/** By name, whatever its case; undefined where there is none. */
export function findStyle(name: string): StylePreset | undefined {
  return byName.get(name.toLowerCase());
}
