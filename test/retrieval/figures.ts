import { seeded } from '../fuzz.ts';
import type { Content, Rows } from './formats.ts';

/** How a language speaks of what was sold where. */
interface Wording {
  readonly language: string;
  readonly cities: readonly string[];
  readonly products: readonly string[];
  readonly title: (city: string, year: number) => string;
  readonly text: (city: string, year: number) => string;
  readonly header: readonly [product: string, ...quarters: string[]];
  readonly names: readonly [city: string, year: string];
  readonly question: (product: string, city: string, year: number, quarter: number) => string;
}

const WORDINGS: readonly Wording[] = [
  {
    language: 'eng',
    cities: ['Bergen', 'Lisbon', 'Warsaw', 'Dublin', 'Geneva'],
    products: words('umbrellas, rain boots, wool scarves, leather gloves, straw hats, raincoats, sandals, backpacks'),
    title: (city, year) => `Sales of the shop in ${city}, ${year}`,
    text: (city, year) => `The branch in ${city} reports how many pieces it sold in ${year}, quarter by quarter.`,
    header: ['Product', 'First quarter', 'Second quarter', 'Third quarter', 'Fourth quarter'],
    names: ['City', 'Year'],
    question: (product, city, year, quarter) =>
      `How many ${product} did ${city} sell in the ${['first', 'second', 'third', 'fourth'][quarter]} quarter of ${year}?`,
  },
  {
    language: 'deu',
    cities: ['Bremen', 'Leipzig', 'Salzburg', 'Zürich', 'Mainz'],
    products: words(
      'Regenschirme, Gummistiefel, Wollschals, Lederhandschuhe, Strohhüte, Regenmäntel, Sandalen, Rucksäcke',
    ),
    title: (city, year) => `Verkäufe der Filiale ${city} im Jahr ${year}`,
    text: (city, year) => `Die Filiale in ${city} meldet, wie viele Stücke sie ${year} in jedem Quartal verkauft hat.`,
    header: ['Ware', 'Erstes Quartal', 'Zweites Quartal', 'Drittes Quartal', 'Viertes Quartal'],
    names: ['Stadt', 'Jahr'],
    question: (product, city, year, quarter) =>
      `Wie viele ${product} wurden ${year} in ${city} im ${['ersten', 'zweiten', 'dritten', 'vierten'][quarter]} Quartal verkauft?`,
  },
  {
    language: 'fra',
    cities: ['Nantes', 'Lyon', 'Liège', 'Lausanne', 'Dijon'],
    products: words(
      'parapluies, bottes de pluie, écharpes de laine, gants de cuir, chapeaux de paille, imperméables, sandales',
    ),
    title: (city, year) => `Ventes du magasin de ${city} en ${year}`,
    text: (city, year) =>
      `Le magasin de ${city} indique le nombre de pièces vendues en ${year}, trimestre par trimestre.`,
    header: ['Produit', 'Premier trimestre', 'Deuxième trimestre', 'Troisième trimestre', 'Quatrième trimestre'],
    names: ['Ville', 'Année'],
    question: (product, city, year, quarter) =>
      `Combien de ${product} le magasin de ${city} a-t-il vendus au ${['premier', 'deuxième', 'troisième', 'quatrième'][quarter]} trimestre ${year} ?`,
  },
  {
    language: 'spa',
    cities: ['Sevilla', 'Bilbao', 'Quito', 'Rosario', 'Murcia'],
    products: words(
      'paraguas, botas de goma, bufandas de lana, guantes de cuero, sombreros de paja, impermeables, sandalias',
    ),
    title: (city, year) => `Ventas de la tienda de ${city} en ${year}`,
    text: (city, year) => `La tienda de ${city} comunica cuántas piezas vendió en ${year} en cada trimestre.`,
    header: ['Producto', 'Primer trimestre', 'Segundo trimestre', 'Tercer trimestre', 'Cuarto trimestre'],
    names: ['Ciudad', 'Año'],
    question: (product, city, year, quarter) =>
      `¿Cuántos ${product} se vendieron en ${city} en el ${['primer', 'segundo', 'tercer', 'cuarto'][quarter]} trimestre de ${year}?`,
  },
  {
    language: 'nld',
    cities: ['Utrecht', 'Leuven', 'Breda', 'Gent', 'Zwolle'],
    products: words(
      'paraplu’s, regenlaarzen, wollen sjaals, leren handschoenen, strohoeden, regenjassen, sandalen, rugzakken',
    ),
    title: (city, year) => `Verkopen van de winkel in ${city}, ${year}`,
    text: (city, year) => `De winkel in ${city} meldt hoeveel stuks er in ${year} per kwartaal zijn verkocht.`,
    header: ['Product', 'Eerste kwartaal', 'Tweede kwartaal', 'Derde kwartaal', 'Vierde kwartaal'],
    names: ['Stad', 'Jaar'],
    question: (product, city, year, quarter) =>
      `Hoeveel ${product} heeft ${city} in het ${['eerste', 'tweede', 'derde', 'vierde'][quarter]} kwartaal van ${year} verkocht?`,
  },
  {
    language: 'rus',
    cities: ['Казань', 'Самара', 'Пермь', 'Тула', 'Омск'],
    products: words(
      'зонты, резиновые сапоги, шерстяные шарфы, кожаные перчатки, соломенные шляпы, плащи, сандалии, рюкзаки',
    ),
    title: (city, year) => `Продажи магазина: ${city}, ${year} год`,
    text: (city, year) => `Магазин (${city}) сообщает, сколько штук продано в ${year} году по кварталам.`,
    header: ['Товар', 'Первый квартал', 'Второй квартал', 'Третий квартал', 'Четвёртый квартал'],
    names: ['Город', 'Год'],
    question: (product, city, year, quarter) =>
      `${city}: сколько продано за ${['первый', 'второй', 'третий', 'четвёртый'][quarter]} квартал ${year} года, ${product}?`,
  },
  {
    language: 'jpn',
    cities: ['札幌', '京都', '福岡', '仙台', '広島'],
    products: words('雨傘, 長靴, 羊毛の襟巻き, 革の手袋, 麦わら帽子, 雨合羽, 草履, 背負い鞄'),
    title: (city, year) => `${city}店の売上 ${year}年`,
    text: (city, year) => `${city}の店は${year}年に四半期ごとに売れた数を報告する。`,
    header: ['商品', '第一四半期', '第二四半期', '第三四半期', '第四四半期'],
    names: ['都市', '年'],
    question: (product, city, year, quarter) =>
      `${year}年の第${'一二三四'[quarter]}四半期に${city}で${product}はいくつ売れましたか`,
  },
  {
    language: 'cmn',
    cities: ['杭州', '成都', '青岛', '昆明', '西安'],
    products: words('雨伞, 雨靴, 羊毛围巾, 皮手套, 草帽, 雨衣, 凉鞋, 背包'),
    title: (city, year) => `${city}商店${year}年销售额`,
    text: (city, year) => `${city}的商店报告${year}年每个季度售出的件数。`,
    header: ['产品', '第一季度', '第二季度', '第三季度', '第四季度'],
    names: ['城市', '年份'],
    question: (product, city, year, quarter) => `${city}商店${year}年第${'一二三四'[quarter]}季度卖了多少${product}？`,
  },
];

function words(list: string): string[] {
  return list.split(', ');
}

const YEARS = [2021, 2022, 2023];

export interface FiguresDocument {
  readonly language: string;
  readonly key: string;
  readonly content: Content;
  /** The same for files that are nothing but a table: what the title says stands in each row. */
  readonly alone: Content;
  readonly question: string;
}

/** What shops sold: tables that differ from each other in a city, a year and their numbers. */
export function figures(): FiguresDocument[] {
  const random = seeded(7);
  return WORDINGS.flatMap((wording) =>
    wording.cities.flatMap((city, place) =>
      YEARS.map((year): FiguresDocument => {
        const rows: Rows = [
          wording.header,
          ...wording.products.map((product) => [
            product,
            ...wording.header.slice(1).map(() => String(10 + random.below(9_990))),
          ]),
        ];
        const asked = random.pick(wording.products);
        const title = wording.title(city, year);
        return {
          language: wording.language,
          key: `${wording.language}-shop-${place}-${year}`,
          content: { title, blocks: [{ text: wording.text(city, year) }, { rows }] },
          alone: {
            title,
            blocks: [
              {
                rows: rows.map((row, index) =>
                  index === 0 ? [...wording.names, ...row] : [city, String(year), ...row],
                ),
              },
            ],
          },
          question: wording.question(asked, city, year, random.below(4)),
        };
      }),
    ),
  );
}
