"""Invented passages for the contrast suite, with nothing of any data set: units, quantifiers, modals, roles, numbers.

LOOKED_AT were before the author when rules were written; HELD_APART were written for measuring alone.
"""

from __future__ import annotations


def passages_of(text: str) -> tuple[str, ...]:
    """Read passages that blank lines part."""
    return tuple([" ".join(part.split()) for part in text.strip().split("\n\n")])


LOOKED_AT = passages_of(
    """
The Orsa Valley Railway was opened by Minister Karl Lindholm on 12 June 1884. The line is 86 km long and climbs 940 metres
between the port of Sunde and the mining town of Vessel. All passenger trains stop at Brattby, where the depot is located.
Most of the freight consists of copper ore, which is carried to the smelter at Sunde. Engineer Ida Falk designed the
viaduct at Torp, which has 14 arches and is supported by granite pillars.

Marlow Chemicals said on Tuesday that it may close its plant in Dunmere before the end of March. The plant employs 420
people and was built in 1968. The company bought its rival Pellworth for $35 million in 2011. Some workers were offered
new jobs in Hexley. Unions will meet the chairman, Paul Anstey, next week. The mayor of Dunmere, Ruth Calder, criticised
Anstey for the decision.

The Harrow moth is found in three regions of northern Ostland. Adults are 22 mm long and weigh 3 grams. All females lay
their eggs on willow leaves, while males die after 9 days. Several predators avoid the moth because its wings are bitter.
The species was described by Emil Roth in 1871. It can survive temperatures below 15 degrees for most of the winter.

Patients in the Kessler trial received 40 mg of velorin every morning for 12 weeks. The drug reduced pain in 63 percent of
the patients. Many patients reported headaches, but no patient was withdrawn from the study. The trial was led by Dr. Hana
Sorel at the Almere Clinic. Velorin should be taken with food, and it must not be given to children. The placebo was
prepared by Brenner Laboratories.

The Battle of Stroud Field was fought on 3 October 1642 between the armies of Lord Ashby and Sir Thomas Wenlock. Ashby
defeated Wenlock after 5 hours. The northern bridge was held by 1,200 soldiers, and both castles were burned. Wenlock was
captured near Ilford and was released in 1644. Every village on the river was taxed after the war.

Lake Tamsin covers 310 square kilometres and is 58 metres deep. It was formed when a glacier retreated about 9,000 years
ago. The lake is fed by the river Ruvo and is drained by the river Ketch. Fishing is allowed only in summer. Few boats
cross the lake because the wind is strong. The island of Mota has 75 inhabitants.

Nadia Perl founded the software company Quillon in Tallin in 2003 with a loan of 80,000 euros. Quillon was sold to Barros
Group in 2016 for 220 million euros. Perl taught the programmer Jonas Weir, and Weir succeeded Perl as director. The first
product was a calendar, which was used by 4 million people. All of its servers are cooled with sea water.

The Aldous Prize is awarded every year to the best short novel. In 2009 the jury chose Clara Voss, who beat Martin Teal by
two votes. The prize money is 15,000 pounds. Voss was the first winner who was younger than 30. Most winners are women. The
ceremony can be attended by members only.
"""
)

HELD_APART = passages_of(
    """
The town of Corvin was founded in 1312 by Duke Albrecht and is located 27 km east of Lenz. It has 18,400 inhabitants and
was the seat of the mint until 1790. All houses in the old quarter are built of limestone. The town hall was designed by
Otto Freyer and was restored by Lena Marsh in 1988. Visitors can climb the tower in summer.

A storm hit the coast of Belmar on Friday night and left 6,500 homes without power. Governor Sam Oduya said that the state
may ask for federal help. Winds reached 140 km per hour, and some roads were closed for 3 days. The harbour at Pinto was
damaged before the ferry Aurora could leave. Oduya thanked Captain Luis Reyes for rescuing 12 sailors.

The Delmont process turns waste wood into gas at 850 degrees. One tonne of wood gives 600 litres of fuel. It was invented
by Greta Holm in 1957, and the first plant was opened by Nils Aker in Tromstad. Most plants use pine, which is cheap. The
ash is sold to farmers, and the process must be stopped every 20 hours.

The painter Ivo Tarn was born in Sabile in 1899 and was taught by Rosa Klein. Tarn painted Klein in 1921, and the portrait
is owned by the museum of Grodek. Many of his early works were lost in a fire. He sold only 9 paintings during his life.
The largest picture is 4 metres wide. Several critics compared him with Anton Beck.

In the final of the Halven Cup, Rovers defeated Athletic by 3 goals to 1 on 20 May 2012. The striker Dan Mori scored two
goals in the first half. The match was watched by 41,000 people at Corley Park. Coach Eva Stroud will leave Rovers in July.
All tickets were sold within 2 hours. The referee, Jan Pohl, was praised by both teams.

The Sella bean grows on slopes above 1,200 metres and is harvested by hand. Each plant gives about 2 kg of beans, and a
sack weighs 60 kg. Exporters in Port Maren paid 4 dollars per pound in 2019. Some farms belong to the Amaro family, which
bought them from the Ruiz company. The beans should be dried for 8 days and are never roasted before shipping.
"""
)
