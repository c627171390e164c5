# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Small words that a language cannot do without, by ISO 639-1 code: what tells languages of one script apart."""

from __future__ import annotations


def small_words(words: str) -> frozenset[str]:
    """Read words written one after another."""
    return frozenset(words.split())


SUPPORTED: dict[str, str] = {
    "en": "the of and to in is that it for was on are with as be at this have from or by not but what all were when"
    " we there can an your which their will would about how they you has had been if more no do his her she he my me"
    " i",
    "de": "der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er"
    " hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur"
    " bis mehr durch man sein wurde wenn ich wir ihr kann ihre bitte keine",
    "fr": "le la les de des du et en un une est que qui dans pour pas sur au avec ce il elle sont par plus ne se je"
    " nous vous cette mais ou leur été être fait aux comme tout on ont c d l qu n s j sa ses son même aussi ces si"
    " votre vos peut",
    "es": "el la los las de del y en un una es que por con para no se su al lo como más pero sus le ya o este sí"
    " porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante uno ni contra"
    " ese eso yo fue son está ser tiene puede usted",
    "pt": "o a os as de do da dos das e em um uma é que por com para não se seu sua ao mais como mas foi ele ela no"
    " na nos nas são está ou quando muito já também só pelo pela até isso entre depois sem mesmo aos seus quem eu"
    " você ser tem pode à",
    "it": "il lo la i gli le di del della dei delle e in un una è che per con non si su al da dal nel nella alla"
    " come più ma sono anche ha o questo questa quando molto se ci lui lei era essere stato dell l un' suo sua tutti"
    " dopo tra loro cui può degli ai",
    "nl": "de het een en van in is dat op te met voor zijn niet aan er om ook als bij maar dan nog uit wordt naar"
    " heeft die door over ze hij zich je ik we hun kan worden geen deze was werd al of meer zou moet hebben u uw dit",
    "sv": "och att det i på som är av för en med inte den till har de om ett men var jag han hon så från vi du kan"
    " när nu alla eller vad hade ska efter mycket ut också bara mot där sig sin här blir vid skulle mellan över inga"
    " måste",
    "da": "og i at det er en til på som af for de med den har ikke var et han jeg sig der om men fra så vi hun kan"
    " når nu alle eller hvad havde skal efter meget ud også kun mod hvor sin her bliver ved skulle mellem over ingen"
    " blev være denne af mig dig dette uden mere ind nogle nogen noget vil kunne gør hvis",
    "no": "og i at det er en til på som av for de med den har ikke var et han jeg seg der om men fra så vi hun kan"
    " når nå alle eller hva hadde skal etter mye ut også bare mot hvor sin her blir ved skulle mellom over ingen ble"
    " være denne av meg deg dette uten mer inn noen noe vil kunne gjør hvis",
    "fi": "ja on ei se että hän joka mutta oli ovat kun niin myös olla tai kuin sen mukaan ne jos sitä siitä vain"
    " hänen minä sinä me te he tämä tässä jotka voi ole mitä nyt vielä jälkeen kanssa koska mikä tämän ollut ennen"
    " siihen jo kaikki",
    "pl": "i w na z do że się nie jest to o jak po co ale od dla za czy są był przez tym tak już tylko jego przy być"
    " może oraz lub która który które było ich tego jej ma pod bardzo gdy ze jako można więc przed także ja ty my",
    "cs": "a v na se že je s z do o i to k ve pro za by ale si po jako od jsou nebo které který která jeho při být"
    " není také podle byl až už co jak tak jen má jsem před když jejich může ze aby kde tento této jsme proto",
    "ro": "și în de la cu pe un o este că nu se din care pentru mai a fost sau ca dar sunt ce lui prin după despre"
    " dacă această acest au are când foarte fi ai am al ale către până între cea cel toate sa său fără dintre",
    "hu": "a az és hogy nem is egy van ez volt csak meg de ha mint már azt el még kell vagy lehet majd ki minden"
    " nagyon sem fel után által amely ami nincs ezt így itt ott aki lesz között szerint össze arra ezek olyan több"
    " pedig én te ő mi",
    "tr": "ve bir bu da de için ile çok daha olarak ne var gibi ama en kadar olan sonra o ben sen biz siz değil mi"
    " her ya ki göre ancak veya ise olduğu olduğunu tarafından bunu şu nasıl hiç yok oldu önce bütün şey eğer"
    " üzerinde lütfen diye",
    "id": "yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke karena tersebut bisa ada mereka"
    " lebih telah sudah atau seperti oleh kami kita dia anda hanya adalah sebagai dapat bahwa jika saat harus antara"
    " setelah belum para banyak namun",
    "ru": "и в не на я что он с а как это по но они к у ты из мы за вы так же от о его для только все её бы когда"
    " или если уже был была было быть при до том этого который которые чтобы может нет есть также после более",
    "uk": "і в не на я що він з а як це по але вони до у ти із ми за ви так же від про його для тільки все її би"
    " коли або якщо вже був була було бути при цього який які щоб може немає є також після більше та й ще",
    "bg": "и в не на аз че той с а как това по но те към у ти от ние за вие така също до му само всичко когато или"
    " ако вече беше бъде при този която който които може няма има след повече се да са ще е си съм",
}
"""Languages that are told by their small words."""

RELATED: dict[str, str] = {
    "ca": "el els les de del i en un una és que per amb no es seu al com més però els també aquest aquesta són està"
    " ha va ser molt quan on entre dels als pel fins hi ho ens seva seves perquè cal",
    "gl": "o a os as de do da dos das e en un unha é que por con para non se seu súa ao máis como pero foi el ela no"
    " na nos nas son está ou cando moito xa tamén só polo pola ata isto entre",
    "af": "die het en van in is dat op te met vir nie aan daar om ook as by maar dan nog uit word na deur oor hulle"
    " hy jy ek ons hul kan geen hierdie was al of meer sal moet wees jou",
    "sk": "a v na sa že je s z do o aj to k vo pre za by ale si po ako od sú alebo ktoré ktorý ktorá jeho pri byť"
    " nie tiež podľa bol až už čo tak len má som pred keď ich môže zo aby kde tento táto sme preto",
    "hr": "i u na se da je s iz do o to k za bi ali po kao od su ili koje koji koja njegov pri biti nije također"
    " prema bio već što kako tako samo ima sam pred kada njihov može gdje ovaj ova smo zato nema",
    "sl": "in v na se da je s iz do o to k za bi ali po kot od so ali ki ni tudi bil že kaj kako tako samo ima sem"
    " pred ko lahko kjer ta smo zato ter pri vse",
    "et": "ja on ei see et ta kes aga oli kui nii ka olla või mis seda siis ning ma sa me te nad selle tema saab"
    " pole veel pärast kõik enne oma mida",
    "lt": "ir yra ne kad tai iš į su bet kaip ar buvo jis ji jie už nuo po per tik dar jau kai arba bus būti šis"
    " apie labai kuris kurie savo",
    "lv": "un ir ne ka tas no uz ar bet kā vai bija viņš viņa pēc par tikai vēl jau kad būs būt šis ļoti kas kuri"
    " savu lai nav",
    "sq": "dhe në të është që për me nga një nuk si ka kjo ky por më se janë ishte do kur edhe ose duke ai ajo pas",
    "eu": "eta da ez bat hau dira zen baina ere izan dute du edo da egin behar dago hori honek bere duen",
    "cy": "y yr a i o yn mae ar am gan wedi ei eu ond neu nid oedd bod fod hwn hon sydd chi ni",
    "ga": "an agus na ar i is tá go leis do bhí sé sí ach ní nó ag den sa mar bheith",
    "is": "og að í á er sem það til við um af en ekki var hann hún með fyrir eru þetta frá vera eða ég þú",
    "sw": "na ya wa kwa ni katika la za cha hii hiyo kuwa au lakini yake kama hili ambayo si huu",
    "tl": "ang ng sa na at mga ay hindi ito para si kay nang may siya ako ka mo ko kung din",
    "ms": "yang dan di itu dengan untuk tidak ini dari dalam akan pada juga saya ke kerana boleh ada mereka lebih"
    " telah sudah atau seperti oleh kami kita dia anda hanya ialah sebagai bahawa jika",
    "eo": "la kaj en estas ne de al ke kun por el sed mi vi li ŝi ĝi ili tiu kiu oni pli ankaŭ se",
    "sr": "и у на се да је с из до о то к за би али по као од су или које који која његов при бити није такође према"
    " био већ што како тако само има сам пред када може где овај ова смо зато",
    "mk": "и во на се да е со од до за би но по како или кои кој која бил веќе што така само има сум пред кога може"
    " каде овој оваа сме не ги го",
    "be": "і ў не на я што ён з а як гэта па але яны да у ты мы за вы так жа ад аб яго для толькі усё яе калі або"
    " калі ужо быў была было быць пры які якія каб можа няма ёсць таксама пасля",
}
"""Neighbours that would be taken for one of the others: they are recognised, and answered as not supported."""
