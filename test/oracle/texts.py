"""Random tables of texts, in families whose members are edits of one text."""
import random

WORDS = [''.join(random.Random(i).choices('abcdefghijklmnopqrstuvwxyz', k=2 + i * 7 % 10)) for i in range(4000)]
UNICODE = ('Straße STRASSE İstanbul ıstanbul Σίσυφος ΣΊΣΥΦΟΣ e\u0301te\u0301 \u00e9t\u00e9 日本語の文章 日本 中文文本重复'
           ' 안녕하세요 😀😃 שלום مرحبا \u200fabc\u200e ﬁne ǅ \u00a0 \u3000 K Å ß ẞ 𝔘𝔫𝔦 \u0301 \ufeff … «quote» \u200b'
           ' Ⅷ ⓐ \t \n').split(' ')

# Rows, and the lengths of texts in characters.
SHAPES = {'tiny': ((0, 12), (0, 60)), 'titles': ((100, 700), (5, 80)), 'paragraphs': ((80, 500), (60, 900)),
          'articles': ((20, 100), (800, 6000)), 'books': ((8, 20), (5000, 40000)), 'workers': ((350, 450), (6500, 7500)),
          'large': ((2500, 6000), (60, 200))}


def text_of(chance, kind, length):
    """A text of about `length` characters."""
    if kind == 'letters':
        return ''.join(chance.choices('ab', k=length))
    if kind == 'digits':
        return ''.join(chance.choices('0123456789abcdef', k=length))
    words = {'words': WORDS, 'few': WORDS[:60], 'unicode': UNICODE}[kind]
    taken, size = [], 0
    while size < length:
        taken.append(chance.choice(words))
        size += len(taken[-1]) + 1
    return ' '.join(taken)[:max(length, 1)]


def edited(chance, text, rate):
    """The text with about `rate` of it changed."""
    how = chance.random()
    if how < 0.45:
        letters = list(text)
        for _ in range(max(1, int(len(letters) * rate))):
            place = chance.randrange(len(letters) + 1)
            letters[place:place + chance.randrange(2)] = chance.choice(['', 'x', 'yz', ' ', 'ß'])
        return ''.join(letters)
    if how < 0.65:
        size = int(len(text) * rate)
        place = chance.randrange(len(text) - size + 1)
        return text[:place] + text_of(chance, 'words', size) + text[place + size:]
    if how < 0.75:
        return text.upper() if chance.random() < 0.5 else text.replace(' ', '  ')
    if how < 0.9:
        return text[:max(1, int(len(text) * (1 - rate)))]
    return text + ' ' + text_of(chance, 'words', int(len(text) * rate) + 1)


def table_of(chance, shape):
    """Rows (family, text). Every row of a family comes from one text, most directly."""
    (least, most), lengths = SHAPES[shape]
    rows = []
    kind = 'words' if shape in ('workers', 'large') else chance.choice(['words', 'words', 'few', 'unicode', 'letters', 'digits'])
    count = chance.randint(least, most)
    size = chance.choice([2, 3, 5, 20, 60])
    copies = chance.random() < 0.08 and shape in ('titles', 'paragraphs')
    rates = chance.choice([[0.01, 0.03, 0.06], [0.05, 0.1, 0.2], [0.3, 0.5, 0.7], [0.002, 0.02, 0.1, 0.3]])
    family = 0
    while len(rows) < count:
        family += 1
        text = text_of(chance, kind, chance.randint(*lengths))
        members = [text]
        for _ in range(size - 1 if copies or chance.random() < 0.5 else chance.randrange(size * 2)):
            of = text if chance.random() < 0.7 else chance.choice(members)
            members.append(of if chance.random() < 0.12 else edited(chance, of, chance.choice(rates)))
        if copies and family == 1:  # many rows that are the same
            members += [chance.choice(members[:9]) for _ in range(chance.choice([300, 1000, 1000, 5000]))]
            count += len(members)
        rows += [(family, member) for member in members]
    rows = [(0, chance.choice([None, '', ' ', '\n\t ', '.', 'a'])) if chance.random() < 0.02 else row
            for row in rows[:count]]
    if chance.random() < 0.6:
        chance.shuffle(rows)
    return rows


def like_goods_or_ads(chance, rows):
    """The rows as they are, or titles of products, or within what all ads of a company have in common."""
    how = chance.random()
    if how < 0.25:
        makers = WORDS[:chance.choice([3, 30])]
        line = lambda: [chance.choice(makers), *chance.choices(WORDS[40:90], k=chance.randint(1, 4)),
                        chance.choice('ABXZ') + str(chance.randint(1, 999)),
                        chance.choice(['8GB', '16 GB', '27"', 'XL'])]
        goods = {family: line() for family, _ in rows}
        for at, (family, text) in enumerate(rows):
            if text:
                words = [word for word in goods[family] if chance.random() < 0.9] + chance.choices(WORDS[:40], k=2)
                if chance.random() < 0.5:
                    chance.shuffle(words)
                rows[at] = family, ' '.join(words)
    elif how < 0.5:
        about = [text_of(chance, 'words', chance.randint(50, 900)) for _ in range(chance.choice([1, 2, 10]))]
        of_company = lambda family, text: text and f'{about[family % len(about)]} {text} {about[-1]}'
        rows = [(family, of_company(family, text)) for family, text in rows]
    return rows
