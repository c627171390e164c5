"""Short questions about invented passages, each with a right answer and a wrong one: what hallucination is ranked by.

Written for this, with nothing of any data set. TUNED was looked at when the constants of
`evaluators.grounding.nearness` were chosen; HELD_APART was written before that and measured once after it. Most of the
wrong answers are words of the passage, which only the question tells to be wrong, and so harder than usual.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_SHORT = 5
"""Words of a wrong answer that is as short as a right one; longer ones are sentences."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question about a passage, and two answers."""

    passage: str
    question: str
    right: str
    wrong: str

    @property
    def is_short(self) -> bool:
        """Say whether the wrong answer is as short as the right one."""
        return len(self.wrong.split()) <= LONGEST_SHORT


def pairs_of(text: str) -> Iterator[Pair]:
    """Read passages (after #) and their lines of question, right answer and wrong answer."""
    for part in text.split("\n# ")[1:]:
        passage, rows = part.strip().split("\n\n")
        for row in rows.split("\n"):
            question, right, wrong = row.split(" | ")
            yield Pair(passage.replace("\n", " "), question, right, wrong)


TUNED = tuple(
    pairs_of(
        """
# Marta Quill (born 4 May 1961) is a Norwegian composer and conductor. She led the Bergen Chamber Players from 1994 to
2006 before moving to Lisbon, where she founded the Tagus Ensemble with the cellist Rui Sena.

Which ensemble did Marta Quill lead before she moved to Lisbon? | Bergen Chamber Players | Tagus Ensemble
Who founded the Tagus Ensemble together with Marta Quill? | Rui Sena | Marta Quill founded the Tagus Ensemble together with the violinist Ana Costa.
In which year did Marta Quill stop leading the Bergen Chamber Players? | 2006 | 1994

# Halden Light is a lighthouse on the northern tip of Skarv Island. It was built in 1872 to a design by Otto Brenner
and stands 38 metres tall. The keeper's house was turned into a museum in 1989.

How tall is Halden Light? | 38 metres | 72 metres
When was the keeper's house turned into a museum? | 1989 | 1872
Who designed the lighthouse on Skarv Island? | Otto Brenner | The lighthouse on Skarv Island was designed by the keeper.

# The Verral is a river in the east of Lomania. It rises in the Tarn Hills near the village of Oste and flows 214 km
to the Gulf of Sarn. The Elk, its longest tributary, joins it at the town of Brod.

Where does the Verral rise? | in the Tarn Hills | the Gulf of Sarn
Which river joins the Verral at Brod? | the Elk | The Oste joins the Verral at Brod.
How long is the Verral? | 214 km | The Verral is about 340 km long.

# Iron Orchard is a 1978 novel by the American writer Della Prine. It follows two brothers who inherit a steel mill in
Ohio. The novel was adapted for television in 1983 by Hal Weston, with Joan Merrick in the leading role.

Who wrote Iron Orchard? | Della Prine | Hal Weston
Who directed or adapted Iron Orchard for television? | Hal Weston | Joan Merrick
What do the two brothers of Iron Orchard inherit? | a steel mill | They inherit an apple orchard in Ohio.
What nationality is the author of Iron Orchard? | American | The author of Iron Orchard is British.

# Crane & Fell is a furniture company that was founded in Leeds in 1921 by Arthur Crane and Edwin Fell. In 1957 the
company was bought by the Dutch group Van Loon, which moved its headquarters to Utrecht. It employs about 1,200
people.

In which city was Crane & Fell founded? | Leeds | Utrecht
Which group bought Crane & Fell? | Van Loon | Crane & Fell was bought by the Danish group Holm.
How many people does Crane & Fell employ? | about 1,200 | 1,921
When was Crane & Fell bought by the Dutch group? | 1957 | 1921

# The sand lynx (Lynx arenae) is a small cat of the deserts of central Turania. It hunts at night, mostly for jerboas
and lizards, and spends the day in burrows that foxes have dug. Females give birth to three or four kittens in
April.

What does the sand lynx mostly hunt? | jerboas and lizards | foxes
When are the kittens of the sand lynx born? | April | The kittens of the sand lynx are born in October.
Where does the sand lynx spend the day? | in burrows | The sand lynx spends the day in the trees of central Turania.

# Pavel Orlik won the Corran Prize in 2011 for his study of bees. His sister Irena Orlik, a chemist at the University
of Dorn, had won it in 2004 for work on plastics. Both grew up in Maren.

Who won the Corran Prize in 2004? | Irena Orlik | Pavel Orlik
For what did Irena Orlik win the Corran Prize? | work on plastics | his study of bees
Where did Pavel Orlik grow up? | Maren | Dorn
Did both Pavel and Irena Orlik win the Corran Prize? | yes | No, only Pavel Orlik won the Corran Prize.

# Lake Ansel lies 640 m above the sea in the canton of Wahl. It covers 12 square kilometres and is 85 m deep. Lake
Torv, in the neighbouring canton of Sele, covers 19 square kilometres but is only 30 m deep.

Which lake is deeper, Lake Ansel or Lake Torv? | Lake Ansel | Lake Torv
Which lake covers the larger area, Lake Ansel or Lake Torv? | Lake Torv | Lake Ansel covers the larger area.
In which canton is Lake Torv? | Sele | Wahl
How deep is Lake Ansel? | 85 m | 640 m

# The Battle of Grey Ford took place on 9 June 1644. The royal army under the Earl of Hask was beaten by Colonel
Thomas Vane, who lost 300 men. The earl fled to Carrick and died there two years later.

Who beat the royal army at Grey Ford? | Colonel Thomas Vane | The royal army was beaten by the Earl of Hask.
Where did the Earl of Hask die? | Carrick | Grey Ford
How many men did Vane lose? | 300 | 1644
On what date was the Battle of Grey Ford? | 9 June 1644 | The Battle of Grey Ford took place on 6 July 1646.

# "Paper Moons" is a song by the Swedish band Fjord Club from their second album, Winterland (2009). It was written by
the singer Lina Åberg and the drummer Max Holm, and reached number three in Finland.

Who wrote "Paper Moons"? | Lina Åberg and Max Holm | "Paper Moons" was written by the guitarist Erik Dahl.
From which album is "Paper Moons"? | Winterland | Fjord Club
Which number did "Paper Moons" reach in Finland? | three | second
What instrument does Max Holm play? | drums | Max Holm plays the bass guitar.

# Korin is the largest town on the island of Vell. The ferry from Korin to the mainland port of Stade takes 55
minutes; the older service from Lusk, on the south coast, took two hours and ended in 1998.

How long does the ferry from Korin to Stade take? | 55 minutes | two hours
When did the service from Lusk end? | 1998 | The service from Lusk ended in 2003.
What is the largest town on Vell? | Korin | Stade

# Zelinite is a rare green mineral made of copper, arsenic and oxygen. It was first described in 1903 by the geologist
Hugo Zelin, who found it in a mine near Petrov. It is too soft to be cut as a gem.

What colour is zelinite? | green | Zelinite is a blue mineral.
Who first described zelinite? | Hugo Zelin | Petrov
Why is zelinite not cut as a gem? | It is too soft. | It is too rare.
Which metal does zelinite have? | copper | It has iron and silver.

# Omar Haddad is a Lebanese-Canadian architect. He studied in Montreal under Louise Tremblay and opened his office in
Toronto in 1987. His best-known work, the Harbour Library in Halifax, opened in 2002.

Under whom did Omar Haddad study? | Louise Tremblay | Omar Haddad studied under the architect Moshe Klein.
In which city is the Harbour Library? | Halifax | Toronto
In what year did Omar Haddad open his office? | 1987 | 2002
What is the profession of Omar Haddad? | architect | Omar Haddad is a Lebanese painter.

# The Tern 4 was a light aircraft of the 1930s, built by Halloway in Bristol. Forty-one were made. It carried two
people and had a single Gipsy engine; the later Tern 6 had two engines and carried six.

How many Tern 4 were made? | forty-one | 41 of 1930
How many engines did the Tern 6 have? | two | six
Where was the Tern 4 built? | Bristol | The Tern 4 was built in Coventry.
How many people did the Tern 6 carry? | six | two people

# Bao cakes are steamed buns from the city of Luzhen. The filling is made of red beans, lotus seeds and pork fat. They
are eaten at the Lantern Festival, and were first sold by Widow Tan in 1866.

When are bao cakes eaten? | at the Lantern Festival | Bao cakes are eaten at the Moon Festival.
Who first sold bao cakes? | Widow Tan | They were first sold by a monk of Luzhen.
What is in the filling of bao cakes? | red beans, lotus seeds and pork fat | steamed buns

# Stefan Rakic played for Dynamo Vrsa from 2001 to 2007 and scored 64 goals in 190 games. He then moved to the Italian
club Bassano for a fee of 4 million euros. He became coach of Vrsa in 2015.

How many goals did Rakic score for Dynamo Vrsa? | 64 | 190
To which club did Rakic move in 2007? | Bassano | He moved to the Spanish club Valverde.
What was the fee for Rakic? | 4 million euros | 64 million euros
What did Rakic become in 2015? | coach of Vrsa | He became the president of the Italian club Bassano.

# The Museum of Clocks in Ferrow keeps some 900 clocks, the oldest from 1510. Its founder, the watchmaker Jean
Dubarry, gave his collection to the town in 1934. The museum is closed on Mondays.

Who founded the Museum of Clocks? | Jean Dubarry | Ferrow
On which day is the museum closed? | Monday | The museum is closed on Sundays.
From which year is the oldest clock? | 1510 | 1934
How many clocks does the museum keep? | some 900 | 1510
"""
    )
)

HELD_APART = tuple(
    pairs_of(
        """
# Nils Aker (12 March 1908 - 3 July 1977) was a Danish physicist. He taught in Aarhus until 1949, when he was called
to Zurich, and received the Lorne Medal in 1958 for his measurements of cosmic rays.

To which city was Nils Aker called in 1949? | Zurich | Aarhus
Which medal did Nils Aker receive? | the Lorne Medal | Nils Aker received the Nobel Prize in physics.
In what year did Nils Aker die? | 1977 | 1958
What did Nils Aker measure? | cosmic rays | He measured the speed of light in Aarhus.

# Castle Roon stands on a rock above the river Imm. It was begun in 1240 by Count Ulrich and finished by his grandson
Albrecht a century later. Fire destroyed the east tower in 1713; it was not rebuilt.

Who finished Castle Roon? | Albrecht | Count Ulrich
What destroyed the east tower? | fire | The east tower was destroyed by a flood of the river Imm.
When was Castle Roon begun? | 1240 | 1713
Was the east tower rebuilt? | no | Yes, the east tower was rebuilt by Albrecht.

# The Daily Courier is a newspaper in Port Hale. It was founded in 1889 as a weekly by the printer Samuel Birch and
became a daily in 1902. Its rival, the Hale Observer, closed in 1964.

Who founded the Daily Courier? | Samuel Birch | The Daily Courier was founded by the editor George Lamb.
When did the Daily Courier become a daily? | 1902 | 1889
Which newspaper closed in 1964? | the Hale Observer | the Daily Courier
What was the profession of Samuel Birch? | printer | weekly

# Green Harbour is a 1995 film by the Irish director Fiona Lacey. It stars Brendan Keogh as a fisherman who finds a
stranger, played by Sophie Marchand, on the beach. It was shot in Donegal in seven weeks.

Who directed Green Harbour? | Fiona Lacey | Brendan Keogh
Who plays the stranger in Green Harbour? | Sophie Marchand | The stranger is played by the actress Nora Burke.
Where was Green Harbour shot? | Donegal | The film was shot on the coast of Galway.
How long did it take to shoot Green Harbour? | seven weeks | It took three months to shoot Green Harbour.

# Velox was a Belgian maker of bicycles. Its factory in Ghent opened in 1898 and at its height made 30,000 bicycles a
year. The company was sold to the French firm Mercier & Fils in 1962 and the factory closed in 1970.

In which city was the factory of Velox? | Ghent | The factory of Velox was in Brussels.
When was Velox sold? | 1962 | 1970
How many bicycles a year did Velox make at its height? | 30,000 | 1,898
To whom was Velox sold? | Mercier & Fils | Ghent

# The marsh wren of Ilva is a bird of reed beds. It is 11 cm long and brown above, with a white throat. The male
builds several nests, of which the female chooses one and lines it with moss and feathers.

What colour is the throat of the marsh wren? | white | brown
Who chooses the nest? | the female | the male
With what is the nest lined? | moss and feathers | The nest is lined with reed and sheep's wool.
How long is the marsh wren of Ilva? | 11 cm | The marsh wren of Ilva is 16 cm long.

# Amara Diallo was the first woman to lead the port of Sassou. She succeeded Henri Mbeki in 2009 and was followed by
her deputy, Paul Etonde, in 2018. Under her the port doubled its traffic to 6 million tonnes.

Whom did Amara Diallo succeed? | Henri Mbeki | Paul Etonde
Who followed Amara Diallo in 2018? | Paul Etonde | Amara Diallo was followed by the minister Jean Ouedraogo.
What was the traffic of the port under Diallo? | 6 million tonnes | 2009 tonnes
What was Paul Etonde before he led the port? | her deputy | He was the mayor of Sassou.

# Mount Keel is 2,914 m high and was first climbed in 1868 by the brothers Franz and Josef Lauber. Its neighbour, the
Spitz, is 3,102 m high and was climbed only in 1901, by the Englishwoman Mary Allard.

Which mountain is higher, Mount Keel or the Spitz? | the Spitz | Mount Keel
Who first climbed the Spitz? | Mary Allard | The Spitz was first climbed by Franz and Josef Lauber.
How high is Mount Keel? | 2,914 m | 3,102 m
Which mountain was climbed first? | Mount Keel | The Spitz was climbed first.

# The Treaty of Alm was signed on 2 October 1721 by the kings of Savona and Brest. Savona gave up the county of Lir
and received the fortress of Monteferro. The treaty held for only nine years.

Which fortress did Savona receive? | Monteferro | the county of Lir
How long did the treaty hold? | nine years | The treaty held for twenty years.
When was the Treaty of Alm signed? | 2 October 1721 | The Treaty of Alm was signed on 21 February 1712.
What did Savona give up? | the county of Lir | the fortress of Monteferro

# "Slow Train Home" was the first single of the singer Kit Farrow. Her producer Dan Oakes recorded it in Memphis in
1973. It sold 200,000 copies; the second single, "Blue Door", sold only 9,000.

Who produced "Slow Train Home"? | Dan Oakes | Kit Farrow
Where was "Slow Train Home" recorded? | Memphis | "Slow Train Home" was recorded in Nashville.
How many copies did "Blue Door" sell? | 9,000 | 200,000
What was the second single of Kit Farrow? | "Blue Door" | The second single was "Slow Train Home".

# The metro of Karsk has two lines. Line A opened in 1976 with eight stations, and line B in 1991 with twelve. The
depot is at Voron, the terminus of line A; trains of line B turn at Zavod.

How many stations did line B open with? | twelve | eight
Where is the depot of the metro? | Voron | Zavod
When did line A open? | 1976 | Line A opened in 1984 with six stations.
How many lines does the metro of Karsk have? | two | The metro of Karsk has five lines.

# Tollen oil is pressed from the seeds of the toll tree of Madagora. It smells of almonds and is used in soap. Half of
the world's supply comes from the Rasoa valley, where the harvest begins in August.

From what is tollen oil pressed? | seeds | It is pressed from the bark of the toll tree.
Of what does tollen oil smell? | almonds | soap
When does the harvest begin? | August | The harvest begins in November.
What is tollen oil used in? | soap | almonds

# Chen Wei-lin is a Taiwanese violinist who lives in Vienna. She studied in Taipei with Lin Hao and in Vienna with
Gerda Roth, and won the Sarasate Competition in 1999 at the age of nineteen.

With whom did Chen Wei-lin study in Vienna? | Gerda Roth | Lin Hao
Which competition did Chen Wei-lin win? | the Sarasate Competition | She won the Queen Elisabeth Competition.
How old was Chen Wei-lin when she won the competition? | nineteen | 1999
What instrument does Chen Wei-lin play? | violin | Chen Wei-lin plays the piano in Vienna.

# The Osprey class were six frigates of the navy of Carland, built between 1954 and 1959. The first, Osprey, was
scrapped in 1981; the last, Merlin, is a museum ship in Dunmore. Each had a crew of 180.

How many frigates were of the Osprey class? | six | 180
Which ship is a museum in Dunmore? | Merlin | Osprey
When was Osprey scrapped? | 1981 | 1959
How many men were the crew of each frigate? | 180 | Each had a crew of 240 men.

# Salt lamb is a dish of the coast of Brennick. The meat is rubbed with sea salt and thyme and hung for ten days
before it is roasted over beech wood. The town of Orle holds a feast of salt lamb every September.

For how long is the meat hung? | ten days | The meat is hung for three weeks.
Over what is the meat roasted? | beech wood | sea salt and thyme
Which town holds a feast of salt lamb? | Orle | Brennick
In which month is the feast held? | September | The feast is held in May.

# Rita Solberg trained the skier Jon Vik from 1992 to 1998. Vik won gold in Harbin in 1996 and silver two years later.
His record of 27 victories stood until Emil Strand broke it in 2013.

Who trained Jon Vik? | Rita Solberg | Emil Strand
Where did Jon Vik win gold? | Harbin | Jon Vik won gold in Oslo in 1994.
How many victories did Jon Vik have? | 27 | 1996
Who broke the record of Jon Vik? | Emil Strand | The record was broken by Rita Solberg.

# The Institute of Tides in Lorient has measured the sea since 1846. Its first director, Achille Morvan, invented a
float gauge that was used in 40 ports. In 1993 the institute was joined to the University of Brest.

Who invented the float gauge? | Achille Morvan | The float gauge was invented by the engineer Pierre Gallic.
In how many ports was the float gauge used? | 40 | 1846
To which university was the institute joined? | the University of Brest | Lorient
Since when has the institute measured the sea? | 1846 | 1993
"""
    )
)
