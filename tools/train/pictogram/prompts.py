"""64 prompts of the contact sheet: (text, kind). `known`: a caption of training; `mixed`: a colour or style it was not drawn
in, `held`: a pair of colour and thing kept out of training; `free`: other words."""

PROMPTS = (
    [
        (p, "known")
        for p in [
            "a red apple",
            "cat face",
            "rocket",
            "crying face",
            "birthday cake",
            "house with garden",
            "a pizza",
            "soccer ball",
            "smiling face with sunglasses",
            "a banana",
            "fire",
            "red heart",
            "a penguin",
            "hamburger, flat style",
            "guitar, noto style",
            "an icon of a frog",
            "sun",
            "umbrella",
            "a key",
            "christmas tree",
            "a strawberry",
            "snowman",
            "airplane",
            "a hot beverage",
        ]
    ]
    + [
        (p, "held")
        for p in [
            "blue apple",
            "a green car",
            "purple banana",
            "a pink frog",
            "blue fire",
            "green rocket",
            "purple cat",
            "a blue strawberry",
            "red frog",
            "a yellow car",
            "pink whale",
            "blue dog face",
        ]
    ]
    + [
        (p, "mixed")
        for p in [
            "a green heart",
            "purple balloon",
            "red fish",
            "a blue gift",
            "yellow rose",
            "orange butterfly, flat style",
            "pink bird",
            "a purple mushroom",
            "green hat",
            "a red bus",
            "blue flower",
            "a yellow umbrella",
        ]
    ]
    + [
        (p, "free")
        for p in [
            "happy cat",
            "angry face",
            "a sleepy smiley",
            "a cup of coffee",
            "a piece of cake with a candle",
            "a snowy mountain",
            "a sailing boat on the sea",
            "music",
            "a fast red sports car",
            "a puppy",
            "a glass of wine",
            "rainy weather",
            "the moon at night",
            "a doctor",
            "a bowl of noodles",
            "money",
        ]
    ]
)
assert len(PROMPTS) == 64
